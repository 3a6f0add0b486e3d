import type { Settings } from '../../config/settings.ts'
import type { RunContext } from '../../event/context.ts'
import { placeText } from '../../event/place.ts'
import type { PromptOutcome } from '../prompt-run.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { type Gate, usualGateMs } from './gate.ts'
import { runIsolated, type Verdict } from './isolated.ts'

/** Runs a prompt file in a work tree; its changes are applied after all tasks are done and its gate passes. */
export function runPromptIsolated(
  { settings }: Pick<PromptTarget, 'settings'>,
  work: (inside: RunContext) => Promise<PromptOutcome>,
  context: RunContext,
): Promise<PromptOutcome> {
  return runIsolated({ name: 'file', ...wayOut(context), gate: gateOf(settings), work, verdict: verdictOf }, context)
}

/** The hint if the work tree no longer exists. */
export function wayOut({ scope }: RunContext): { readonly cure: string } {
  const place = placeText(scope.at)
  return { cure: place === '' ? 'Run the file again.' : `Resume with --from ${place} to do that part again.` }
}

export function gateOf({ gate, timeouts }: Pick<Settings, 'gate' | 'timeouts'>): Gate | undefined {
  return gate === undefined ? undefined : { line: gate, timeLimitMs: timeouts.gate_ms ?? usualGateMs }
}

function verdictOf(outcome: PromptOutcome): Verdict {
  if (outcome.status === 'suspended') return 'wait'
  if (outcome.status === 'skipped') return 'apply'
  const failed = outcome.outcomes.filter(({ status }) => status === 'failed').length
  if (failed > 0) return { leftOut: failed === 1 ? 'a task failed' : `${failed} tasks failed` }
  const { unmet } = outcome.repeated ?? {}
  return unmet === undefined ? 'apply' : { leftOut: unmet.reason }
}
