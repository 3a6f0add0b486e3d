import { type CommandSpec, globalFlags } from './spec.ts'

export const installSpec: CommandSpec = {
  name: 'install',
  summary: 'install a pack, or what packs.lock names',
  words: [
    {
      name: 'source',
      count: 'optional',
      describe: 'folder, .aipack file, http(s) URL of one, git URL[@REF][#FOLDER], or an installed ns@pack',
    },
  ],
  flags: {
    workspace: { kind: 'switch', describe: 'into .baton/packs of this project; otherwise for all projects' },
    force: { kind: 'switch', describe: 'also an older version, and over what was changed' },
    yes: { kind: 'switch', short: 'y', describe: 'agree to what the pack may do' },
    'no-input': { kind: 'switch', describe: 'never ask' },
  },
  examples: [
    ['baton install ./tools/notes', 'a folder with a pack.toml'],
    ['baton install git+https://host.example/packs@v1#notes', 'the folder notes of a repository, at a tag'],
    ['baton install', 'everything that .baton/packs.lock of this project names, the very same content'],
  ],
  async run({ words, flags }, io) {
    const { installCommand } = await import('../commands/install.ts')
    const given = {
      ...globalFlags(flags),
      source: words[0],
      workspace: flags['workspace'] === true,
      force: flags['force'] === true,
      yes: flags['yes'] === true,
      noInput: flags['no-input'] === true,
    }
    return installCommand(given, io)
  },
}
