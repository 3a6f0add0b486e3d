import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { HostFunction, LuaValue } from '../engine.ts'
import { type Answer, clockCells, type FromWorker, type Outcome, type WorkerClock } from './protocol.ts'

type Values = readonly LuaValue[]

/** In a worker: an error of a host function, whose own error is in the main thread under this number. */
export class RemoteError extends Error {
  readonly number: number

  constructor(message: string, number: number) {
    super(message)
    this.number = number
  }
}

export interface HostProxy {
  /** A function that the main thread does. This thread sleeps until it says the result, or that it will take a while. */
  call(target: number): HostFunction['call']
  settle(call: number, outcome: Outcome): void
}

export interface ProxyPorts {
  readonly post: (message: FromWorker) => void
  readonly answers: MessagePort
  readonly clock: WorkerClock
}

/**
 * Host functions of a worker (spec/lua-engines.md 4.5). A result that is there at once is waited for with `Atomics.wait`, so
 * that such functions work everywhere in Lua; a promise stays one, so that the worker goes on with what else it has to do
 * and agents may run agents. Both behave as they do in the main thread.
 */
export function createHostProxy({ post, answers, clock }: ProxyPorts): HostProxy {
  const waiting = new Map<number, (outcome: Outcome) => void>()
  let calls = 0

  const ask = (call: number, question: Extract<FromWorker, { kind: 'call' }>): Answer => {
    const seen = Atomics.load(clock.cells, clockCells.answers)
    const startedAt = performance.now()
    Atomics.store(clock.cells, clockCells.isWaiting, 1)
    post(question)
    Atomics.wait(clock.cells, clockCells.answers, seen)
    clock.waitedMs[0] = (clock.waitedMs[0] ?? 0) + performance.now() - startedAt
    Atomics.store(clock.cells, clockCells.isWaiting, 0)
    const received = receiveMessageOnPort(answers) as { readonly message: Answer } | undefined
    if (received === undefined) throw new Error(`host call ${call} was not answered`)
    return received.message
  }
  return {
    call(target) {
      return (args) => {
        const call = ++calls
        const answer = ask(call, { kind: 'call', call, target, args })
        if (answer.kind !== 'waits') return valuesOf(answer)
        return new Promise<Values>((resolve, reject) => {
          waiting.set(call, (outcome) => {
            try {
              resolve(valuesOf(outcome))
            } catch (error) {
              reject(error as Error)
            }
          })
        })
      }
    },
    settle(call, outcome) {
      waiting.get(call)?.(outcome)
      waiting.delete(call)
    },
  }
}

function valuesOf(outcome: Outcome): Values {
  if (outcome.kind === 'values') return outcome.values
  throw new RemoteError(outcome.message, outcome.error)
}
