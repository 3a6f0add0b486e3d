import type { BatonError } from '../base/error.ts'
import type { Action, Approver, Decision, OpenQuestions } from '../event/permission.ts'
import { type Place, placeText, withoutCall } from '../event/place.ts'
import { askUntil } from './ask-until.ts'

/** An answer from elsewhere; null: the question is withdrawn. */
type Settle = (decision: Decision | null) => void

/**
 * Lets the questions for an approver also be answered by the place of their call, or be withdrawn: the first answer
 * counts, and the question is withdrawn from the other side.
 */
export function createOpenQuestions(approver: Approver): {
  readonly approver: Approver
  readonly questions: OpenQuestions
} {
  /** By call: a call may have several open questions. */
  const open = new Map<string, Set<Settle>>()
  /** Calls whose questions are withdrawn, with the number of withdrawals. */
  const withdrawn = new Map<string, number>()

  function settleAll(call: string, decision: Decision | null): void {
    for (const settle of open.get(call) ?? []) settle(decision)
  }

  return {
    async approver(action, question) {
      const call = callOf(question.at)
      if (withdrawn.has(call)) throw await openLater(action)
      let settle: Settle = () => {}
      const otherwise = new Promise<Decision | null>((resolve) => (settle = resolve))
      const standing = open.get(call) ?? new Set()
      open.set(call, standing.add(settle))
      try {
        const { signal } = question
        const decision = await askUntil<Decision | null>(
          (either) => approver(action, { ...question, signal: either }),
          { signal, otherwise },
        )
        if (decision === null) throw await openLater(action)
        return decision
      } finally {
        standing.delete(settle)
        if (standing.size === 0) open.delete(call)
      }
    },
    questions: {
      answer: (at, decision) => settleAll(callOf(at), decision),
      withdraw(at) {
        const call = callOf(at)
        withdrawn.set(call, (withdrawn.get(call) ?? 0) + 1)
        settleAll(call, null)
        return () => {
          const left = (withdrawn.get(call) ?? 0) - 1
          if (left > 0) withdrawn.set(call, left)
          else withdrawn.delete(call)
        }
      },
    },
  }
}

async function openLater(action: Action): Promise<BatonError> {
  return (await import('./approvals.ts')).waitingForApproval(action)
}

/** The call that a question is about. Calls of an agent that the call runs are not meant: they are below it. */
function callOf(at: Place): string {
  return placeText(withoutCall(at))
}
