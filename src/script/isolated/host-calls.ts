import { messageOf } from '../../base/error.ts'
import { LuaError, type LuaStateOptions, type LuaValue } from '../engine.ts'
import { type FromWorker, type Outcome, type RunOutcome, seedTarget } from './protocol.ts'
import type { Thread } from './thread.ts'

/** Errors kept for finding the cause of an uncaught one; the engine in the thread keeps fewer. */
const keptErrors = 64

/** Does the host calls of one state that lives in a worker. */
export interface HostCalls {
  answer(question: Extract<FromWorker, { kind: 'call' }>): void
  /** The error of a failed run, with the host's own error as its cause. */
  errorOf(outcome: Extract<RunOutcome, { kind: 'failed' }>): LuaError
  /** From now on every call fails, and no late result is sent. */
  close(): void
}

export function createHostCalls(thread: Thread, { functions, seed }: LuaStateOptions): HostCalls {
  const errors = new Map<number, unknown>()
  let lastError = 0
  let isClosed = false

  const failed = (error: unknown): Outcome => {
    errors.set(++lastError, error)
    errors.delete(lastError - keptErrors)
    return { kind: 'failed', message: messageOf(error), error: lastError }
  }
  const call = (target: number, args: readonly LuaValue[]): ReturnType<(typeof functions)[number]['call']> => {
    if (isClosed) throw new LuaError('the Lua state was closed')
    if (target === seedTarget) return [seed()]
    const definition = functions[target]
    if (definition === undefined) throw new Error(`there is no host function ${target}`)
    return definition.call(args)
  }
  /** Sends what can be copied to the thread, otherwise why it cannot. */
  const send = (outcome: Outcome, post: (outcome: Outcome) => void): void => {
    try {
      post(outcome)
    } catch (error) {
      post(failed(error))
    }
  }
  const settleLater = (number: number, result: Promise<readonly LuaValue[]>): void => {
    const settle = (outcome: Outcome): void => {
      if (!isClosed) send(outcome, (sent) => thread.post({ kind: 'settled', call: number, outcome: sent }))
    }
    result.then(
      (values) => settle({ kind: 'values', values }),
      (error: unknown) => settle(failed(error)),
    )
  }
  return {
    answer({ call: number, target, args }) {
      try {
        const result = call(target, args)
        if (!(result instanceof Promise))
          return send({ kind: 'values', values: result }, (outcome) => thread.answer(outcome))
        thread.answer({ kind: 'waits' })
        settleLater(number, result)
      } catch (error) {
        thread.answer(failed(error))
      }
    },
    errorOf({ message, details: { hostError, ...details } }) {
      const cause = hostError === undefined ? undefined : errors.get(hostError)
      return new LuaError(message, { ...details, ...(cause === undefined ? {} : { cause }) })
    },
    close() {
      isClosed = true
    },
  }
}
