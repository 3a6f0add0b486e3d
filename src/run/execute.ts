import { createInOrder } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import type { ScriptResult } from '../event/agent.ts'
import { below, emit, type RunContext, withScope } from '../event/context.ts'
import { part } from '../event/place.ts'
import type { Ending } from './ending.ts'
import { type InputOptions, readInputs } from '../load/inputs.ts'
import type { AgentTarget, Target } from '../load/target.ts'
import type { Strategy, AgentOnce, TaskOutcome } from './strategy.ts'

export interface Execution {
  readonly context: RunContext
  readonly strategies: readonly Strategy[]
  /** Tasks with a final outcome, for the ending of a run that fails later. */
  readonly finished: TaskOutcome[]
  readonly hide: (text: string) => string
}

/** Runs a target to its end; emits answers and outputs as events as soon as they are final. Throws if the run fails. */
export async function execute(target: Target, inputs: InputOptions, execution: Execution): Promise<Ending> {
  if (target.kind === 'agent') return executeAgent(target, inputs, execution)
  const { executePrompt } = await import('./execute-prompt.ts')
  return executePrompt(target, inputs, execution)
}

async function executeAgent(
  target: AgentTarget,
  inputs: InputOptions,
  { context, strategies }: Pick<Execution, 'context' | 'strategies'>,
): Promise<Ending> {
  const work = (at: RunContext): Promise<Ending> => executeAgentHere(target, inputs, { context: at, strategies })
  if (target.settings.isolation !== 'worktree' || context.scope.dry !== undefined) {
    return work(context)
  }
  const { runAgentIsolated } = await import('./isolation/isolated.ts')
  return runAgentIsolated(target, work, context)
}

async function executeAgentHere(
  target: AgentTarget,
  inputs: InputOptions,
  { context, strategies }: Pick<Execution, 'context' | 'strategies'>,
): Promise<Ending> {
  const { repeatAgent } = strategies.find(({ key }) => target.settings[key] !== undefined) ?? {}
  if (repeatAgent !== undefined) return repeatAgent(target, (at) => runAgentOnce(target, inputs, at), context)
  const onOutput = (output: Json): void => context.services.events([], { type: 'output', output })
  const result = await runAgent(target, { inputs, onOutput }, context)
  if (result.end !== 'skipped') {
    const { failedInputs, outputs } = result
    return { stopReason: failedInputs > 0 ? 'error' : 'done', tasks: [], outputs }
  }
  const reason = result.reason ?? skippedItself
  return {
    stopReason: 'skipped',
    tasks: [],
    outputs: [],
    skipped: { reason, hint: `See ${displayPath(context.scope.folders.workspace, target.agent.file)}.` },
  }
}

const skippedItself = 'the agent skipped this run'

async function runAgentOnce(target: AgentTarget, inputs: InputOptions, context: RunContext): Promise<AgentOnce> {
  const result = await runAgent(target, { inputs, onOutput: () => {} }, context)
  if (result.end === 'skipped') return { status: 'skipped', reason: result.reason ?? skippedItself }
  return { status: 'done', outputs: result.outputs, failedInputs: result.failedInputs }
}

/**
 * Runs an `.aip` or `.lua` file that was named on the command line, and repeats it as long as it requests `redo_run`.
 * Each round reads the agent and lists the files of `-f` again.
 * @throws BatonError if the agent fails, LIMIT after too many rounds
 */
async function runAgent(
  { reload, flagOptions: options }: AgentTarget,
  { inputs, onOutput }: { readonly inputs: InputOptions; readonly onOutput: (output: Json) => void },
  context: RunContext,
): Promise<ScriptResult> {
  return runRounds(
    async (redoCount, round) => {
      const at = withScope(below(round, part('main')), { redoCount })
      const order = createInOrder(onOutput)
      const result = await context.services.agents.run(
        {
          kind: 'script',
          agent: reload(),
          inputs: await readInputs(inputs, at),
          options,
          onOutput: (output, index) => order.add(index, output),
        },
        at,
      )
      return { outcome: result, redo: result.end === 'redo' }
    },
    { context, cure: 'Let the agent look at CTX.RUN_FLOW_REDO_COUNT before it returns aip.flow.redo_run().' },
  )
}

/** The maximum number of rounds after the first one. */
export const maxRedo = 20

export interface RoundOutcome<T> {
  readonly outcome: T
  readonly redo: boolean
}

/**
 * Runs rounds until one does not request another. Round n has the place `redo/<n>`, the first one no place of its own.
 * `cure` is the hint for the author on how to end it.
 * @throws BatonError LIMIT after too many rounds
 */
export async function runRounds<T>(
  round: (redoCount: number, context: RunContext) => Promise<RoundOutcome<T>>,
  { context, cure }: { readonly context: RunContext; readonly cure: string },
): Promise<T> {
  for (let redoCount = 0; ; redoCount += 1) {
    const at = redoCount === 0 ? context : below(context, { kind: 'redo', round: redoCount })
    const { outcome, redo } = await round(redoCount, at)
    if (!redo) return outcome
    if (redoCount >= maxRedo) {
      throw new BatonError('LIMIT', `the run was asked to redo itself more than ${maxRedo} times`, { hint: cure })
    }
    emit(context, { type: 'redo', count: redoCount + 1 })
  }
}
