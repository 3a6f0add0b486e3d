import { BatonError } from '../base/error.ts'
import {
  type Action,
  actionText,
  type Decision,
  type NewFileContent,
  type Permission,
  type Permit,
  type Verdict,
} from '../event/permission.ts'
import { type WorkResult, unwrap } from './work-result.ts'
import { needsApproval } from './needs-approval.ts'

/** Throws if the action is not allowed. A user's permit counts when the verdict is `ask`. */
export function permissionCheck(
  permission: Permission,
): (action: Action, content?: NewFileContent, permit?: Permit) => void {
  return (action, content, permit) => {
    const verdict = permission.check(action, content)
    if (verdict.kind === 'ask' && permit === undefined) throw needsApproval(action)
    if (verdict.kind === 'deny') throw denialError(verdict)
  }
}

/** The error for a refused action. */
export function denialError({ code, reason, hint }: Extract<Verdict, { readonly kind: 'deny' }>): BatonError {
  return new BatonError(code, reason, { hint })
}

/**
 * The permit from a decided approval; of a change perhaps only for some of its hunks.
 * @throws BatonError UNTRUSTED if it was rejected or expired, with the decision as cause
 */
export function permitOf(action: Action, answer: WorkResult<unknown>): Permit {
  const decision = unwrap(answer) as Decision
  if (decision === 'allow' || (typeof decision === 'object' && 'always' in decision)) return { action }
  if (typeof decision === 'object' && 'hunks' in decision && decision.hunks.length > 0)
    return { action, part: decision }
  const isExpired = typeof decision === 'object' && 'expired' in decision
  const what = isExpired ? `is not allowed: nobody has answered for ${decision.expired}` : 'was rejected'
  throw new BatonError('UNTRUSTED', `${actionText(action)} ${what}`, { cause: decision })
}
