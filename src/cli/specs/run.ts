import { BatonError } from '../../base/error.ts'
import type { RunFlags } from '../options.ts'
import { type CommandSpec, type FlagValues, globalFlags, listFlag, textFlag } from './spec.ts'

export const runSpec: CommandSpec = {
  name: 'run',
  summary: 'run a prompt file or an agent',
  words: [
    {
      name: 'file',
      count: 'optional',
      describe: 'prompt file (.md), agent (.aip, .lua), ns@pack/agent, or - for standard input',
    },
  ],
  flags: {
    prompt: { kind: 'text', short: 'p', describe: 'run this text as the prompt, without a file' },
    input: { kind: 'list', short: 'i', describe: 'input text; one task for each' },
    'on-files': { kind: 'list', short: 'f', describe: 'glob; one task for each file it matches' },
    var: { kind: 'list', describe: 'fill a variable of [input]: name=value' },
    model: { kind: 'text', short: 'm', describe: 'model of the main agent' },
    dry: {
      kind: 'text',
      choices: ['req', 'res'],
      describe: 'req: ask no model; res: ask, and run no Output section',
    },
    output: { kind: 'text', describe: 'write the result to this file, once the run has succeeded' },
    'output-schema': { kind: 'text', describe: 'the answer is JSON that fits the JSON Schema of this file' },
    watch: { kind: 'switch', short: 'w', describe: 'run again whenever something that was read changes' },
    record: { kind: 'text', describe: 'write all the run asked and got into this file, for --replay' },
    replay: {
      kind: 'text',
      describe: 'answer everything from a run or a file of --record; nothing outside is touched',
    },
    'max-cost': { kind: 'text', describe: 'stop before the run costs more than this many US dollars' },
    'no-input': { kind: 'switch', describe: 'never ask' },
    'single-shot': { kind: 'switch', short: 's', hidden: true },
    open: { kind: 'switch', short: 'o', hidden: true, describe: 'open the file in the editor, then run' },
  },
  async run({ words, flags }, io) {
    const asked = askedOf(words, flags)
    const replay = textFlag(flags['replay'])
    if (asked.file === '' && asked.prompt === undefined && replay === undefined) {
      throw new BatonError('USAGE', 'name a file to run, or a command', { hint: 'See baton --help.' })
    }
    const given: RunFlags = {
      ...globalFlags(flags),
      ...asked,
      output: textFlag(flags['output']),
      open: flags['open'] === true,
      noInput: flags['no-input'] === true,
      watch: flags['watch'] === true,
      dry: textFlag(flags['dry']) as 'req' | 'res' | undefined,
      record: textFlag(flags['record']),
    }
    if (replay !== undefined) return (await import('../commands/replay.ts')).replayCommand(given, replay, io)
    return (await import('../commands/run.ts')).runCommand(given, io)
  },
}

type Asked = Pick<RunFlags, 'file' | 'prompt' | 'vars' | 'outputSchema' | 'inputs' | 'onFiles' | 'model' | 'maxCost'>

/** What is asked, as `baton run` and `baton plan` are told. */
export function askedOf(words: readonly string[], flags: FlagValues): Asked {
  return {
    file: words[0] ?? '',
    prompt: textFlag(flags['prompt']),
    vars: listFlag(flags['var']),
    outputSchema: textFlag(flags['output-schema']),
    inputs: listFlag(flags['input']),
    onFiles: listFlag(flags['on-files']),
    model: textFlag(flags['model']),
    maxCost: textFlag(flags['max-cost']),
  }
}
