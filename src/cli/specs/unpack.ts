import { type CommandSpec, globalFlags } from './spec.ts'

export const unpackSpec: CommandSpec = {
  name: 'unpack',
  summary: 'copy a pack into a folder, to change it',
  words: [
    { name: 'pack', count: 'one', describe: '.aipack file or ns@pack' },
    { name: 'folder', count: 'optional', describe: 'new folder; left out: its place in .baton/packs of this project' },
  ],
  flags: { force: { kind: 'switch', describe: 'replace the pack that is there' } },
  async run({ words, flags }, io) {
    const { unpackCommand } = await import('../commands/unpack.ts')
    const given = { ...globalFlags(flags), pack: words[0] ?? '', folder: words[1], force: flags['force'] === true }
    return unpackCommand(given, io)
  },
}
