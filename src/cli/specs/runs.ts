import { runStatuses } from '../../journal/summary.ts'
import { type CommandSpec, globalFlags, textFlag } from './spec.ts'

const actions = ['list', 'show', 'diff', 'export', 'rm'] as const

export const runsSpec: CommandSpec = {
  name: 'runs',
  summary: 'list, show, compare, export and remove the runs of this workspace',
  words: [
    {
      name: 'action',
      count: 'optional',
      choices: actions,
      describe: 'show RUN, diff A B, export RUN [FILE], rm RUN…; list, the default, takes flags only',
    },
    {
      name: 'run',
      count: 'any',
      describe: 'ids of runs, or their beginnings; last is the newest. Behind that of export the file',
    },
  ],
  flags: {
    ids: { kind: 'switch', describe: 'list: print the ids only' },
    limit: { kind: 'text', short: 'n', describe: 'list: at most so many runs (20; 0: all)' },
    file: { kind: 'text', describe: 'list, rm: runs of this file only; a name, a path or a glob' },
    status: { kind: 'text', choices: runStatuses, describe: 'list, rm: runs with this status only' },
    place: { kind: 'text', describe: 'show: this part whole, with its prompts and answers' },
    all: { kind: 'switch', describe: 'show, diff: every part and every line' },
    older: { kind: 'text', describe: 'rm: runs that nobody has worked on for so long, for example 30d' },
    failed: { kind: 'switch', describe: 'rm: runs that were not done: failed, stopped or broken off' },
    'dry-run': { kind: 'switch', describe: 'rm: say what would be removed' },
  },
  examples: [
    ['baton runs --status failed', 'the newest runs that failed'],
    ['baton runs show last', 'the newest run as a tree: tasks, agents, calls, pins, errors'],
    ['baton runs show 20261122 --place task/0', 'one part of a run, with what was asked and answered'],
    ['baton runs diff 20261121 last', 'what differs: sources, prompts, answers, calls; exit code 1 when anything does'],
    ['baton runs export last run.cassette', 'everything of a run as one file, for --replay'],
    ['baton runs rm --older 30d --dry-run', 'which runs would be removed'],
  ],
  async run({ words, flags }, io) {
    const { runsCommand } = await import('../commands/runs.ts')
    const action = actions.find((known) => known === words[0]) ?? 'list'
    return runsCommand(
      {
        ...globalFlags(flags),
        action,
        runs: words.slice(1),
        ids: flags['ids'] === true,
        limit: textFlag(flags['limit']),
        file: textFlag(flags['file']),
        status: runStatuses.find((known) => known === textFlag(flags['status'])),
        place: textFlag(flags['place']),
        all: flags['all'] === true,
        older: textFlag(flags['older']),
        failed: flags['failed'] === true,
        dryRun: flags['dry-run'] === true,
      },
      io,
    )
  },
}
