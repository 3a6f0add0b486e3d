import type { BatonError } from '../base/error.ts'
import type { Action, Approver, OpenQuestions, SpokenDecision } from '../event/permission.ts'
import { type Place, placeText, withoutCall } from '../event/place.ts'

interface Standing {
  readonly at: Place
  readonly settle: (decision: SpokenDecision | 'withdrawn') => void
}

/**
 * Lets the questions that an approver is asked be answered by the place of their call as well, and be withdrawn: whoever
 * answers first does, and the question is taken back from the other.
 */
export function createOpenQuestions(approver: Approver): {
  readonly approver: Approver
  readonly questions: OpenQuestions
} {
  const open = new Set<Standing>()
  /** Places of which nothing is asked any more. */
  const withdrawn = new Set<string>()
  return {
    async approver(action, question) {
      if (withdrawn.has(placeText(question.at))) throw await openLater(action)
      const other = new AbortController()
      let settle: Standing['settle'] = () => {}
      const elsewhere = new Promise<SpokenDecision | 'withdrawn'>((resolve) => (settle = resolve))
      const standing = { at: question.at, settle }
      open.add(standing)
      try {
        const asked = approver(action, { ...question, signal: AbortSignal.any([question.signal, other.signal]) })
        // who is asked may notice that the question was taken back
        const here = asked.catch((error: unknown) =>
          other.signal.aborted ? elsewhere : Promise.reject(error as Error),
        )
        const decision = await Promise.race([elsewhere, here])
        if (decision === 'withdrawn') throw await openLater(action)
        return decision
      } finally {
        open.delete(standing)
        other.abort()
      }
    },
    questions: {
      answer(at, decision) {
        for (const standing of open) if (isOf(at, standing)) standing.settle(decision)
      },
      withdraw(at) {
        withdrawn.add(placeText(at))
        for (const standing of open) if (isOf(at, standing)) standing.settle('withdrawn')
      },
    },
  }
}

async function openLater(action: Action): Promise<BatonError> {
  return (await import('./approvals.ts')).waitingForApproval(action)
}

/** Not about what an agent does that the call runs: that lies below it. */
function isOf(call: Place, { at }: Standing): boolean {
  return placeText(withoutCall(at)) === placeText(withoutCall(call))
}
