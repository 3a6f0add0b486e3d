import { type CommandSpec, globalFlags } from './spec.ts'

export const configSpec: CommandSpec = {
  name: 'config',
  summary: 'print the settings in force, here or for a prompt file',
  words: [{ name: 'file', count: 'optional', describe: 'prompt file' }],
  flags: { origin: { kind: 'switch', describe: 'also print where each value comes from' } },
  async run({ words, flags }, io) {
    const { configCommand } = await import('../commands/config.ts')
    return configCommand({ ...globalFlags(flags), file: words[0], origin: flags['origin'] === true }, io)
  },
}
