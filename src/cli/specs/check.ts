import { type CommandSpec, globalFlags } from './spec.ts'

export const checkSpec: CommandSpec = {
  name: 'check',
  summary: 'parse, validate and resolve without running',
  words: [{ name: 'files', count: 'some', describe: 'prompt files and agents' }],
  flags: {},
  async run({ words, flags }, io) {
    const { checkCommand } = await import('../commands/check.ts')
    return checkCommand({ ...globalFlags(flags), files: words }, io)
  },
}
