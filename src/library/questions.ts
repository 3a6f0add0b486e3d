import type { Approver, Decision } from '../event/permission.ts'
import type { Operation } from '../run/converse.ts'

/** The questions of one conversation, and the operations that answer them. */
interface Questions {
  /** Rejects with the reason of the signal of the question. */
  readonly ask: Approver
  /** Answers a question that stands open; one that does not is passed over. */
  readonly decide: (operation: Extract<Operation, { readonly id: string }>) => void
  /** Nobody answers any more: what is asked, and what will be, is rejected. */
  readonly close: () => void
}

/** Questions of a run, answered by the operations of its front end. */
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
