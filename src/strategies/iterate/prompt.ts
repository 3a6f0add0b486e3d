import { realPath } from '../../base/files.ts'
import { defined, type Json } from '../../base/json.ts'
import type { RunContext } from '../../event/context.ts'
import { addSpent, nothingSpent } from '../../event/meter.ts'
import { instructionOf } from '../../stage/state.ts'
import { placeGlobErrors } from '../../run/files.ts'
import { createFileCache, runAllTasks } from '../../run/tasks.ts'
import { iterationPrompt } from './blocks.ts'
import { endedFailing, type IterateResult, neverMet, notRestored } from './records.ts'
import { type Keeper, openKeeper } from './keeper.ts'
import { type Iteration, iterationOf } from './load.ts'
import { iterate, type IterationWork } from './loop.ts'
import { summarize } from './summarize.ts'
import type {
  PromptRun,
  Repetition,
  RoundTasks,
  TaskOutcome,
  RoundResult,
  RoundContext,
  TasksRunner,
} from '../../run/strategy.ts'

/**
 * Iterates a prompt file: the tasks of each round are worked on repeatedly. Opening the keeper of the first round refuses
 * an unsuitable repository before anything is paid for.
 */
export function startIterating(run: PromptRun): (around: RunContext) => Promise<TasksRunner> {
  const iteration = iterationOf(run.target)
  const { spec, settings } = run.target
  const promptFile = spec.source === 'file' ? realPath(spec.file) : undefined
  let first: Keeper | undefined
  return async (around) => {
    const options = { settings: iteration.settings, promptFile, runsFolder: settings.runs.dir, first }
    const keeper = await openKeeper(options, around)
    first ??= keeper
    return (tasks, working) => workAgain(tasks, working, { iteration, keeper })
  }
}

/** The outcome of an iteration, for the next one and for the end. Plain JSON, because it is recorded. */
type Outcome = { readonly status: 'nothing' } | { readonly status: 'worked'; readonly outcomes: readonly TaskOutcome[] }

/**
 * Works on all tasks repeatedly. Delivered outcomes and the input of `post` agents are those of the last iteration,
 * with the files as they are then.
 * @throws BatonError CHANGES_FAILED if the files of the best iteration cannot be restored
 */
async function workAgain(
  tasks: RoundTasks,
  { delivery, context }: Pick<RoundContext, 'delivery' | 'context'>,
  { iteration, keeper }: { readonly iteration: Iteration; readonly keeper: Keeper },
): Promise<RoundResult> {
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
        const worked = await runAllTasks(tasks, { delivery, context: at, promptOf, isIteration: true })
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
  return { status: 'worked', outcomes, suspension: undefined, files, repeated: repeatedOf(result, context.scope.runId) }
}

function repeatedOf(result: IterateResult, run: string): Repetition {
  const isUnmet = result.until_met === false
  return {
    postInput: { iterations: result.records as unknown as Json },
    ...(result.stop_reason === 'failing' || !isUnmet ? defined({ gaveUp: endedFailing(result, run) }) : {}),
    ...(isUnmet
      ? { unmet: { error: neverMet(result, run), reason: 'the command of "until" has not exited with 0' } }
      : {}),
  }
}

function workOf(worked: RoundResult): IterationWork<Outcome> {
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
