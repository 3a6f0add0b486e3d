import type { Settings } from '../../config/settings.ts'
import { emit, type RunContext, type Sender } from '../../event/context.ts'
import { type Place, placeText } from '../../event/place.ts'
import type { PromptOutcome } from '../prompt-run.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { BatonError, messageOf, stopsRun } from '../../base/error.ts'
import { openWorktree, type Worktree, type WorktreeOptions } from '../../tool/worktree/open.ts'
import { type CheckContext, type CommandEnd, runCheck } from '../check-command.ts'
import type { Ending } from '../ending.ts'
import type { AgentTarget } from '../../load/target.ts'

/** Runs a prompt file in a work tree; its changes are applied after all tasks are done and its gate passes. */
export function runPromptIsolated(
  { settings }: Pick<PromptTarget, 'settings'>,
  work: (inside: RunContext) => Promise<PromptOutcome>,
  context: RunContext,
): Promise<PromptOutcome> {
  return runIsolated(
    { name: 'file', ...missingTreeHint(context.scope.at), gate: gateOf(settings), work, verdict: verdictOf },
    context,
  )
}

/** The hint if the work tree no longer exists. */
export function missingTreeHint(at: Place): { readonly cure: string } {
  const place = placeText(at)
  return { cure: place === '' ? 'Run the file again.' : `Resume with --from ${place} to do that part again.` }
}

export function gateOf({ gate, timeouts }: Pick<Settings, 'gate' | 'timeouts'>): Gate | undefined {
  return gate === undefined ? undefined : { line: gate, timeLimitMs: timeouts.gate_ms ?? defaultGateMs }
}

function verdictOf(outcome: PromptOutcome): Verdict {
  if (outcome.status === 'suspended') return 'wait'
  if (outcome.status === 'skipped') return 'apply'
  const failed = outcome.outcomes.filter(({ status }) => status === 'failed').length
  if (failed > 0) return { leftOut: failed === 1 ? 'a task failed' : `${failed} tasks failed` }
  const { unmet } = outcome.repeated ?? {}
  return unmet === undefined ? 'apply' : { leftOut: unmet.reason }
}

/** The fate of the changes: applied to the workspace, kept for a resumed run, or left out for a reason. */
type Verdict = 'apply' | 'wait' | { readonly leftOut: string }

export interface IsolatedWork<T> extends WorktreeOptions {
  /** An additional check before the changes reach the workspace; undefined: none. */
  readonly gate?: Gate | undefined
  /** Gets a context whose workspace is the work tree. */
  readonly work: (inside: RunContext) => Promise<T>
  readonly verdict: (value: T) => Verdict
}

/**
 * Does work in its own git work tree: the workspace gets all of its changes or none. Changes that it does not get are
 * reported and recorded as a diff; the work tree is kept if the run can be resumed.
 * @throws BatonError of the work; USAGE if no work tree can be created, GATE_FAILED, CHANGES_FAILED
 */
export async function runIsolated<T>(isolated: IsolatedWork<T>, context: RunContext): Promise<T> {
  const { gate, work, verdict, ...options } = isolated
  const tree = await openWorktree(context, options)
  emit(context, { type: 'isolation.started', folder: tree.context.scope.folders.workspace })
  try {
    const value = await work(tree.context)
    const decided = verdict(value)
    if (decided === 'wait') return value
    if (decided !== 'apply') {
      await warnOfLeftTree(tree, decided.leftOut, context)
      return value
    }
    if (gate !== undefined) await runGate(gate, tree.context)
    await tree.apply(await tree.changes())
    await tree.close()
    return value
  } catch (error) {
    if (!context.services.signal.aborted && !stopsRun(error)) await warnOfLeftTree(tree, messageOf(error), context)
    throw error
  }
}

/** Reports the changes that the workspace does not get. */
async function warnOfLeftTree(tree: Worktree, reason: string, context: Sender): Promise<void> {
  const seen = await tree.look()
  if (seen === undefined || seen.files.length === 0) return
  emit(context, { type: 'isolation.left_out', reason: reason.split('\n')[0] ?? '', ...seen })
}

export interface Gate {
  /** A command line for `sh`, as written. */
  readonly line: string
  readonly timeLimitMs: number
}

/** Default time limit. */
const defaultGateMs = 10 * 60_000

/**
 * Runs the command of `gate` in the work tree of the context. A run that failed here runs it again when resumed.
 * @throws BatonError GATE_FAILED if it does not exit with 0
 */
export async function runGate(
  { line, timeLimitMs }: Gate,
  context: CheckContext & Pick<RunContext, 'scope'>,
): Promise<void> {
  const { runId } = context.scope
  const refuse = (end: CommandEnd): void => {
    emit(context, { type: 'isolation.gate', command: line, passed: end.code === 0, output: end.output })
    if (end.code !== 0) throw gateFailed(line, end, runId)
  }
  await runCheck('gate', { line, timeLimitMs, key: 'gate', refuse }, context)
}

const shownLines = 20

function gateFailed(line: string, { code, output }: CommandEnd, run: string): BatonError {
  const how = code === undefined ? 'did not exit by itself' : `exited with ${code}`
  const printed = output.trim().split('\n').slice(-shownLines)
  const shown = output.trim() === '' ? '' : `:${printed.map((text) => `\n  ${text}`).join('')}`
  return new BatonError('GATE_FAILED', `the gate "${line}" ${how}, so nothing was changed in the workspace${shown}`, {
    hint: `baton resume ${run} runs the gate again; baton runs show ${run} --diff | git apply applies the changes anyway.`,
  })
}

/** Runs an agent that was named on the command line in a work tree, as for prompt files. */
export function runAgentIsolated(
  { settings }: Pick<AgentTarget, 'settings'>,
  work: (inside: RunContext) => Promise<Ending>,
  context: RunContext,
): Promise<Ending> {
  const verdict = ({ stopReason }: Ending) =>
    stopReason === 'done' || stopReason === 'skipped' ? 'apply' : { leftOut: 'an input failed' }
  return runIsolated(
    { name: 'file', ...missingTreeHint(context.scope.at), gate: gateOf(settings), work, verdict },
    context,
  )
}
