import { BatonError, isBatonError, stopsRun } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { nothingSpent } from '../../event/meter.ts'
import { type Ending, endsAll } from '../../run/ending.ts'
import type { AgentTarget } from '../../load/target.ts'
import { watchWork } from '../../run/tasks.ts'
import { endedFailing, neverMet, notRestored } from './records.ts'
import { openKeeper } from './keeper.ts'
import { iterate, type IterationWork } from './loop.ts'
import { filesSummary } from './summarize.ts'
import type { AgentOnce, RunAgentOnce } from '../../run/strategy.ts'

/** The result of one run of the agent. Plain JSON, because it is recorded. */
type AgentRun = AgentOnce | { readonly status: 'failed'; readonly error: ErrorInfo }

/**
 * Runs an agent file repeatedly. The agent decides itself what it reads, so no block is put before its input; the
 * summaries list the changed files. The outputs are those of the last iteration.
 */
export async function iterateAgent(target: AgentTarget, runOnce: RunAgentOnce, context: RunContext): Promise<Ending> {
  const { settings, agent } = target
  const iterating = settings.iterate
  if (iterating === undefined) throw new Error('the agent is not iterated')
  const keeper = await openKeeper(
    { settings: iterating, promptFile: agent.file, runsFolder: settings.runs.dir, first: undefined },
    context,
  )
  const { outcome, result } = await iterate<AgentRun>(
    {
      settings: iterating,
      prompt: agent.name,
      assessment: undefined,
      plan: undefined,
      keeper,
      work: (_turn, at) => workOf(runOnce, at),
      isOver: ({ status }) => status === 'skipped',
      summarize: async (_work, done) => ({ text: filesSummary(done), spent: nothingSpent }),
    },
    context,
  )
  if (outcome.status === 'skipped') {
    const { reason } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint: `See ${agent.name}.` } }
  }
  const { runId } = context.scope
  const outputs = outcome.status === 'done' ? outcome.outputs : []
  for (const output of outputs) context.services.events([], { type: 'output', output })
  const unrestored = notRestored(result)
  // not final: a resumed run tries it again
  if (unrestored !== undefined) return { stopReason: 'error', tasks: [], outputs, error: unrestored }
  if (result.stop_reason === 'failing') {
    return { stopReason: 'error', tasks: [], outputs, error: endedFailing(result, runId), isFinal: true }
  }
  if (result.until_met === false) {
    return { stopReason: 'until_not_met', tasks: [], outputs, error: neverMet(result, runId), isFinal: true }
  }
  if (outcome.status === 'failed') {
    return { stopReason: 'error', tasks: [], outputs, error: errorOf(outcome.error, agent), isFinal: true }
  }
  // a finished iteration is not repeated, even if it failed
  return outcome.failedInputs > 0
    ? { stopReason: 'error', tasks: [], outputs, isFinal: true }
    : { stopReason: 'done', tasks: [], outputs }
}

/** Restores the error of an iteration from its record. */
function errorOf({ message, hint, file, line, column }: ErrorInfo, agent: AgentTarget['agent']): BatonError {
  const text = file === agent.file ? agent.text : undefined
  const place = file === undefined ? undefined : { file, ...defined({ line, column, text }) }
  return new BatonError('AGENT_FAILED', message, defined({ hint, place }))
}

/** ` (a.lua:3)`, if known. */
function lineText({ file, line }: ErrorInfo, workspace: string): string {
  return file === undefined ? '' : ` (${displayPath(workspace, file)}${line === undefined ? '' : `:${line}`})`
}

async function workOf(runOnce: RunAgentOnce, context: RunContext): Promise<IterationWork<AgentRun>> {
  const { signal } = context.services
  const { value: outcome, ...done } = await watchWork(async (watched): Promise<AgentRun> => {
    try {
      return await runOnce(watched)
    } catch (error) {
      signal.throwIfAborted()
      if (!isBatonError(error) || stopsRun(error) || endsAll(error)) throw error
      const info = errorInfo(error)
      emit(context, { type: 'warning', message: `${info.message}${lineText(info, context.scope.folders.workspace)}` })
      return { status: 'failed', error: info }
    }
  }, context)
  const answers = outcome.status === 'done' ? outcome.outputs.filter((output) => typeof output === 'string') : []
  const error = errorText(outcome)
  const success = outcome.status === 'skipped' || (outcome.status === 'done' && outcome.failedInputs === 0)
  return { outcome, success, ...defined({ error }), answers, ...done }
}

function errorText(outcome: AgentRun): string | undefined {
  if (outcome.status === 'failed') return outcome.error.message
  if (outcome.status === 'skipped' || outcome.failedInputs === 0) return undefined
  return `${outcome.failedInputs === 1 ? 'one input' : `${outcome.failedInputs} inputs`} failed`
}
