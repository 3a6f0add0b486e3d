import { type CommandSpec, globalFlags, textFlag } from './spec.ts'

export const testSpec: CommandSpec = {
  name: 'test',
  summary: 'run the tests of prompt files, without asking a model',
  words: [{ name: 'files', count: 'some', describe: 'prompt files with [[test]] in their front matter' }],
  flags: {
    name: { kind: 'text', describe: 'only tests with this text in their name' },
    record: { kind: 'switch', describe: 'ask models, commands and HTTP, and write the cassettes of the tests anew' },
    'max-cost': { kind: 'text', describe: 'with --record: stop before all tests cost more than this many US dollars' },
    keep: { kind: 'switch', describe: 'leave the folders the tests ran in, and say where they are' },
  },
  examples: [
    ['baton test ask.md', 'every test of ask.md, offline; exit code 100 when one fails'],
    ['baton test prompts/*.md --name empty', 'tests with "empty" in their name'],
    ['baton test ask.md --record', 'ask the models once, and keep what they answer for the tests'],
  ],
  async run({ words, flags }, io) {
    const { testCommand } = await import('../commands/test.ts')
    return testCommand(
      {
        ...globalFlags(flags),
        files: words,
        name: textFlag(flags['name']),
        record: flags['record'] === true,
        maxCost: textFlag(flags['max-cost']),
        keep: flags['keep'] === true,
      },
      io,
    )
  },
}
