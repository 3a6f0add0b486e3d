import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import type { RunContext } from '../../event/context.ts'
import { addSpent, nothingSpent } from '../../event/meter.ts'
import { instructionOf } from '../../stage/state.ts'
import { placeGlobErrors } from '../files.ts'
import type { PromptRun } from '../prompt-run.ts'
import type { TaskOutcome } from '../task.ts'
import { createFileCache, type RoundTasks, type Worked, type Working, workOnce } from '../tasks.ts'
import { iterationPrompt } from './blocks.ts'
import { notRestored } from './ends.ts'
import { type Keeper, type KeeperOptions, openKeeper } from './keeper.ts'
import type { Iteration } from './load.ts'
import { iterate, type IterationWork } from './loop.ts'
import type { IterateResult } from './record.ts'
import { summarize } from './summarize.ts'

/** Opens the keeper of a prompt file, which refuses an unsuitable repository before anything is paid for. */
export function keeperOf(
  { settings }: Iteration,
  { target: { spec, settings: own } }: PromptRun,
  { around, first }: Pick<KeeperOptions, 'first'> & { readonly around: RunContext },
): Promise<Keeper> {
  const promptFile = spec.source === 'file' ? realPath(spec.file) : undefined
  return openKeeper({ settings, promptFile, runsFolder: own.runs.dir, first }, around)
}

/** The outcome of an iteration, for the next one and for the end. Plain JSON, because it is recorded. */
type Outcome = { readonly status: 'nothing' } | { readonly status: 'worked'; readonly outcomes: readonly TaskOutcome[] }

/**
 * Works on all tasks repeatedly. Delivered outcomes and the input of `post` agents are those of the last iteration,
 * with the files as they are then.
 * @throws BatonError CHANGES_FAILED if the files of the best iteration cannot be restored
 */
export async function workAgain(
  tasks: RoundTasks,
  { delivery, context }: Pick<Working, 'delivery' | 'context'>,
  { iteration, keeper }: { readonly iteration: Iteration; readonly keeper: Keeper },
): Promise<Worked & { readonly iterated?: IterateResult }> {
  const { settings, state, run } = tasks
  const { target } = run
  const task = instructionOf(state)
  const { outcome, result } = await iterate<Outcome>(
    {
      settings: iteration.settings,
      prompt: task,
      assessment: iteration.assessment,
      plan: iteration.plan,
      keeper,
      async work({ facts, frame }, at) {
        delivery.restart()
        const promptOf = (instruction: string): string => iterationPrompt(instruction, facts, frame)
        const worked = await workOnce(tasks, { delivery, context: at, promptOf, isIteration: true })
        if (worked.status === 'worked' && worked.suspension !== undefined) throw worked.suspension.error
        return workOf(worked)
      },
      isOver: ({ status }) => status === 'nothing',
      summarize: (work, done, at) => summarize({ ...done, task, answers: work.answers }, iteration, settings, at),
    },
    context,
  )
  if (outcome.status === 'nothing') return outcome
  const { outcomes } = outcome
  // an iteration that was taken from the record has delivered nothing
  delivery.deliver(outcomes)
  // before anything else looks at the files, and not final: a resumed run tries it again
  const unrestored = notRestored(result)
  if (unrestored !== undefined) throw unrestored
  const filesOf = createFileCache(settings, { spec: target.spec, resourcesOf: tasks.resourcesOf }, context)
  const files = await placeGlobErrors(target, () => filesOf(settings))
  return { status: 'worked', outcomes, suspension: undefined, files, iterated: result }
}

function workOf(worked: Worked): IterationWork<Outcome> {
  if (worked.status === 'nothing') {
    return { outcome: worked, success: true, answers: [], spent: nothingSpent, changed: [] }
  }
  const { outcomes } = worked
  const works = outcomes.flatMap(({ work }) => work ?? [])
  return {
    outcome: { status: 'worked', outcomes },
    success: outcomes.every(({ status }) => status === 'done' || status === 'skipped'),
    ...defined({ error: outcomes.find((one) => one.status === 'failed')?.error.message }),
    answers: outcomes.flatMap((one) => (one.status === 'done' ? [one.content] : [])),
    spent: works.map(({ spent }) => spent).reduce(addSpent, nothingSpent),
    changed: works.flatMap(({ changed }) => changed),
  }
}
