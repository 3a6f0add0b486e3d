import { type CommandSpec, globalFlags, listFlag, textFlag } from './spec.ts'

export const resumeSpec: CommandSpec = {
  name: 'resume',
  summary: 'go on with a run that broke off or failed',
  words: [
    { name: 'run', count: 'optional', describe: 'id of the run, or the beginning of it; last is the same as --last' },
  ],
  flags: {
    last: { kind: 'switch', describe: 'the newest run of this workspace that has not succeeded' },
    from: { kind: 'text', describe: 'do this part of the run again; baton runs show names the parts' },
    'use-current': {
      kind: 'switch',
      describe: 'take the prompt file, agents and config as they are now, and do again what they change',
    },
    uncertain: { kind: 'list', describe: 'decide about an effect whose end is not known: 1.17=redo, done or fail' },
    repair: { kind: 'switch', describe: 'go on although records are damaged: what they held is done again' },
    'max-cost': { kind: 'text', describe: 'stop before the whole run costs more than this many US dollars' },
    output: { kind: 'text', describe: 'write the result to this file, once the run has succeeded' },
    'no-input': { kind: 'switch', describe: 'never ask; this version never does' },
  },
  async run({ words, flags }, io) {
    const { resumeCommand } = await import('../commands/resume.ts')
    return resumeCommand(
      {
        ...globalFlags(flags),
        run: words[0],
        isLast: flags['last'] === true,
        from: textFlag(flags['from']),
        usesCurrent: flags['use-current'] === true,
        uncertain: listFlag(flags['uncertain']),
        repair: flags['repair'] === true,
        maxCost: textFlag(flags['max-cost']),
        output: textFlag(flags['output']),
      },
      io,
    )
  },
}
