import { type CommandSpec, globalFlags } from './spec.ts'

export const initSpec: CommandSpec = {
  name: 'init',
  summary: 'make baton.toml, the settings of a project',
  words: [{ name: 'folder', count: 'optional', describe: 'folder of the project; the current one when left out' }],
  flags: {},
  async run({ words, flags }, io) {
    const { initCommand } = await import('../commands/init.ts')
    return initCommand({ ...globalFlags(flags), folder: words[0] }, io)
  },
}
