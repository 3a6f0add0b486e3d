import { type CommandSpec, globalFlags } from './spec.ts'

export const trustSpec: CommandSpec = {
  name: 'trust',
  summary: 'let files set keys that only you may set; without a file: list them',
  words: [{ name: 'files', count: 'any', describe: 'baton.toml, .baton/config.toml or a prompt file' }],
  flags: { remove: { kind: 'switch', describe: 'trust them no more' } },
  async run({ words, flags }, io) {
    const { trustCommand } = await import('../commands/trust.ts')
    return trustCommand({ ...globalFlags(flags), files: words, remove: flags['remove'] === true }, io)
  },
}
