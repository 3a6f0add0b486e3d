import { type CommandSpec, globalFlags, listFlag, textFlag } from './spec.ts'

export const runSpec: CommandSpec = {
  name: 'run',
  summary: 'run a prompt file or an agent',
  words: [{ name: 'file', count: 'one', describe: 'prompt file (.md), agent (.aip, .lua), or ns@pack/agent' }],
  flags: {
    input: { kind: 'list', short: 'i', describe: 'input text; one task for each' },
    'on-files': { kind: 'list', short: 'f', describe: 'glob; one task for each file it matches' },
    model: { kind: 'text', short: 'm', describe: 'model of the main agent' },
    dry: {
      kind: 'text',
      choices: ['req', 'res'],
      describe: 'req: ask no model; res: ask, and run no Output section',
    },
    'max-cost': { kind: 'text', describe: 'stop before the run costs more than this many US dollars' },
    'no-input': { kind: 'switch', describe: 'never ask; this version never does' },
    'single-shot': { kind: 'switch', short: 's', hidden: true },
    open: { kind: 'switch', short: 'o', hidden: true, describe: 'open the file in the editor, then run' },
  },
  async run({ words, flags }, io) {
    const { runCommand } = await import('../commands/run.ts')
    return runCommand(
      {
        ...globalFlags(flags),
        file: words[0] ?? '',
        inputs: listFlag(flags['input']),
        onFiles: listFlag(flags['on-files']),
        model: textFlag(flags['model']),
        maxCost: textFlag(flags['max-cost']),
        open: flags['open'] === true,
        dry: textFlag(flags['dry']) as 'req' | 'res' | undefined,
      },
      io,
    )
  },
}
