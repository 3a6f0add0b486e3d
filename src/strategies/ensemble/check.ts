import { BatonError } from '../../base/error.ts'
import type { Ensemble } from '../../config/ensemble.ts'
import type { RunContext } from '../../event/context.ts'
import { type CommandEnd, runCheck } from '../../run/check-command.ts'
import type { EnsembleRun, MemberEnd } from './member.ts'
import { inTreeOf, type Trees } from './trees.ts'
import { errorText, type MemberView } from './views.ts'

/** How the check of each answer ended, by the name of the member. */
export type CheckEnds = Map<string, CommandEnd>

interface Checking {
  readonly name: string
  readonly end: MemberEnd
  readonly ensemble: Ensemble
  readonly checks: CheckEnds
  readonly trees: Trees
}

/** Time limit for the check of one answer if the members have no limit of their own. */
const usualMs = 10 * 60_000

/**
 * Whether a member has answered and its answer, which the check reads, passes. Without a check, every answer passes.
 * The check runs in the folder where the member worked.
 */
export async function checkAnswer(
  { name, end, ensemble, checks, trees }: Checking,
  context: RunContext,
): Promise<boolean> {
  const { check, timeout_ms: limit = usualMs } = ensemble
  if (end.status !== 'answered') return false
  if (check === undefined) return true
  const command = { line: check, timeLimitMs: limit, key: 'ensemble.check', input: end.content }
  const ended = await runCheck('check', command, inTreeOf(name, trees, context))
  checks.set(name, ended)
  return ended.code === 0
}

/** The error if no answer passes. */
export async function noneHasPassed(
  views: readonly MemberView[],
  checks: CheckEnds,
  { ensemble, target }: EnsembleRun,
): Promise<BatonError> {
  const each = views.map((view) => {
    const ended = checks.get(view.name)
    if (ended === undefined) return `"${view.name}": ${errorText(view)}`
    return `"${view.name}" ${ended.code === undefined ? 'was killed' : `exit code ${ended.code}`}`
  })
  return new BatonError('AGENT_FAILED', `no answer passes ${JSON.stringify(ensemble.check)}: ${each.join(', ')}`, {
    place: await target.placeOf(['ensemble', 'check'], 'value'),
    hint: 'See its output with baton runs show last. A resumed run repeats all members.',
  })
}
