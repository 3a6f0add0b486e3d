import type { CommandSpec } from './spec.ts'

const subjects = ['prompt', 'config', 'events'] as const

export const schemaSpec: CommandSpec = {
  name: 'schema',
  summary: 'print a JSON Schema, for editors and programs',
  words: [
    {
      name: 'subject',
      count: 'optional',
      choices: subjects,
      describe: 'of front matter (the default), of config files, or of the lines of --json',
    },
  ],
  flags: {},
  async run({ words }, io) {
    const { schemaCommand } = await import('../commands/schema.ts')
    return schemaCommand(subjects.find((subject) => subject === words[0]) ?? 'prompt', io)
  },
}
