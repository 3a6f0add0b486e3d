import { type CommandSpec, globalFlags, textFlag } from './spec.ts'

const kinds = ['prompt', 'agent', 'pack'] as const

export const newSpec: CommandSpec = {
  name: 'new',
  summary: 'make a prompt file, an agent or a pack to start from',
  words: [
    { name: 'kind', count: 'one', choices: kinds, describe: 'what to make' },
    { name: 'name', count: 'one', describe: 'name or path; of a pack namespace@name' },
  ],
  flags: { from: { kind: 'text', describe: 'new prompt: copy this pipeline (baton list names them)' } },
  async run({ words, flags }, io) {
    const { newCommand } = await import('../commands/new.ts')
    const kind = kinds.find((known) => known === words[0]) ?? 'prompt'
    return newCommand({ ...globalFlags(flags), kind, name: words[1] ?? '', from: textFlag(flags['from']) }, io)
  },
}
