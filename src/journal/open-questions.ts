import type { Approver, OpenQuestions, SpokenDecision } from '../event/permission.ts'
import { type Place, placeText, withoutCall } from '../event/place.ts'

interface Standing {
  readonly at: Place
  readonly settle: (decision: SpokenDecision) => void
}

/**
 * Lets the questions that an approver is asked be answered by the place of their call as well: whoever answers first
 * does, and the question is withdrawn from the other.
 */
export function createOpenQuestions(approver: Approver): {
  readonly approver: Approver
  readonly questions: OpenQuestions
} {
  const open = new Set<Standing>()
  return {
    async approver(action, question) {
      const other = new AbortController()
      let settle: Standing['settle'] = () => {}
      const answered = new Promise<SpokenDecision>((resolve) => (settle = resolve))
      const standing: Standing = {
        at: question.at,
        settle(decision) {
          settle(decision)
          other.abort()
        },
      }
      open.add(standing)
      try {
        const signal = AbortSignal.any([question.signal, other.signal])
        const asked = approver(action, { ...question, signal })
        // who is asked may notice that the question was withdrawn
        return await Promise.race([
          answered,
          asked.catch((error: unknown) => (other.signal.aborted ? answered : Promise.reject(error as Error))),
        ])
      } finally {
        open.delete(standing)
      }
    },
    questions: {
      answer(at, decision) {
        for (const standing of open) if (isOf(at, standing)) standing.settle(decision)
      },
    },
  }
}

/** Not about what an agent does that the call runs: that lies below it. */
function isOf(call: Place, { at }: Standing): boolean {
  return placeText(withoutCall(at)) === placeText(withoutCall(call))
}
