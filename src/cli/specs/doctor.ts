import { type CommandSpec, globalFlags } from './spec.ts'

export const doctorSpec: CommandSpec = {
  name: 'doctor',
  summary: 'say what is missing or broken on this machine',
  words: [],
  flags: {},
  async run({ flags }, io) {
    const { doctorCommand } = await import('../commands/doctor.ts')
    return doctorCommand(globalFlags(flags), io)
  },
}
