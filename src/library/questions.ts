import type { Approver, Decision } from '../event/permission.ts'
import type { Operation } from '../run/converse.ts'

/** The questions of one conversation, and the operations that answer them. */
interface Questions {
  /** Rejects with the reason of the question's signal. */
  readonly ask: Approver
  /** Answers a pending question; other ids are ignored. */
  readonly decide: (operation: Extract<Operation, { readonly id: string }>) => void
  /** No more answers will come: pending and future questions are rejected. */
  readonly close: () => void
}

/** The questions of a run, answered by the operations of its front end. */
export function createQuestions(): Questions {
  const open = new Map<string, (decision: Decision) => void>()
  let isClosed = false
  const ask: Approver = async (_, { id, signal }) => {
    signal.throwIfAborted()
    if (isClosed) return 'deny'
    return new Promise<Decision>((resolve, reject) => {
      open.set(id, resolve)
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    }).finally(() => open.delete(id))
  }
  return {
    ask,
    close() {
      isClosed = true
      for (const answer of open.values()) answer('deny')
    },
    decide(operation) {
      const answer = open.get(operation.id)
      if (operation.type === 'approve') answer?.('allow')
      else answer?.(operation.reason === undefined ? 'deny' : { remark: operation.reason })
    },
  }
}
