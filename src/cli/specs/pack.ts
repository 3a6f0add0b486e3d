import { type CommandSpec, globalFlags, textFlag } from './spec.ts'

export const packSpec: CommandSpec = {
  name: 'pack',
  summary: 'make an .aipack file of a pack',
  words: [{ name: 'folder', count: 'one', describe: 'folder with a pack.toml' }],
  flags: { output: { kind: 'text', short: 'o', describe: 'file to write, or the folder it goes into' } },
  async run({ words, flags }, io) {
    const { packCommand } = await import('../commands/pack.ts')
    return packCommand({ ...globalFlags(flags), folder: words[0] ?? '.', output: textFlag(flags['output']) }, io)
  },
}
