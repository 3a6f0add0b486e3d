import { type CommandSpec, globalFlags, textFlag } from './spec.ts'

const formats = ['text', 'json', 'github', 'sarif'] as const

export const checkSpec: CommandSpec = {
  name: 'check',
  summary: 'parse, validate and resolve without running',
  words: [{ name: 'files', count: 'some', describe: 'prompt files and agents' }],
  flags: {
    format: {
      kind: 'text',
      choices: formats,
      describe: 'how problems are printed: for people, as JSON lines, for GitHub, as SARIF',
    },
  },
  async run({ words, flags }, io) {
    const { checkCommand } = await import('../commands/check.ts')
    const { json, ...global } = globalFlags(flags)
    const given = textFlag(flags['format'])
    const format = formats.find((name) => name === given) ?? (json ? 'json' : 'text')
    return checkCommand({ ...global, json, format, files: words }, io)
  },
}
