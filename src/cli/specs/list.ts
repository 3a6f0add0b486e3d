import { type CommandSpec, globalFlags } from './spec.ts'

export const listSpec: CommandSpec = {
  name: 'list',
  summary: 'list agents, packs and pipelines',
  words: [{ name: 'word', count: 'optional', describe: 'only those with this word in the name or the description' }],
  flags: { names: { kind: 'switch', describe: 'print the names of agents only' } },
  async run({ words, flags }, io) {
    const { listCommand } = await import('../commands/list.ts')
    return listCommand({ ...globalFlags(flags), word: words[0], names: flags['names'] === true }, io)
  },
}
