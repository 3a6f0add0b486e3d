// The thread of an isolated engine (engine.ts). It is a separate entry point: nothing imports it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../base/error.ts'
import { type HostFunction, type LuaEngine, LuaError, type LuaState, type LuaValue } from '../engine.ts'
import { askAndWait } from '../thread/ask.ts'
import { clockOf, type WorkerClock } from '../thread/clock.ts'
import {
  type Answer,
  type FromWorker,
  type Outcome,
  seedTarget,
  type SentDetails,
  type ToWorker,
  type WorkerSetup,
} from './protocol.ts'

type Values = readonly LuaValue[]

/** An error of a host function; the original error is in the main thread under this number. */
class RemoteError extends Error {
  readonly number: number | undefined

  constructor(message: string, number: number | undefined) {
    super(message)
    this.number = number
  }
}

/**
 * Host functions of a worker. For a result that is available immediately the worker blocks with `Atomics.wait`, so that
 * such functions work anywhere in Lua; a promise stays a promise, so that the worker can do its other work and agents
 * can run agents. Both behave as they do in the main thread.
 */
function createHostProxy(answers: MessagePort, clock: WorkerClock) {
  const waiting = new Map<number, (outcome: Outcome) => void>()
  let calls = 0

  return {
    /** A function that calls one in the main thread. This thread sleeps until it gets the result or a promise. */
    call(target: number): HostFunction['call'] {
      return (args) => {
        const call = ++calls
        const answer = askAndWait<Answer>(() => post({ kind: 'call', call, target, args }), { answers, clock })
        if (answer.kind !== 'waits') return valuesOf(answer)
        return new Promise<Outcome>((resolve) => waiting.set(call, resolve)).then(valuesOf)
      }
    },
    settle(call: number, outcome: Outcome): void {
      waiting.get(call)?.(outcome)
      waiting.delete(call)
    },
  }
}

function valuesOf(outcome: Outcome): Values {
  if (outcome.kind === 'values') return outcome.values
  const { hostError, limit } = outcome.details
  if (limit !== undefined) throw new LuaError(outcome.message, { limit })
  throw new RemoteError(outcome.message, hostError)
}

const parent = parentPort
if (parent === null) throw new Error('this file must be run as a worker thread')
const { engine: engineName, wasmFile, clock, answers } = workerData as WorkerSetup
const post = (message: FromWorker): void => parent.postMessage(message)
const proxy = createHostProxy(answers, clockOf(clock))
const engine = await loadEngine()
const runs = new Map<number, AbortController>()
const holder: { state?: LuaState } = {}

parent.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'open':
      holder.state = open(message)
      return post({ kind: 'opened' })
    case 'run':
      return void run(message).then((outcome) => post({ kind: 'done', run: message.run, outcome }))
    case 'abort':
      return runs.get(message.run)?.abort(new Error('aborted'))
    case 'settled':
      return proxy.settle(message.call, message.outcome)
    case 'close':
      return void close()
  }
})

async function loadEngine(): Promise<LuaEngine> {
  if (engineName === 'fengari') return (await import('../fengari/engine.ts')).loadFengari()
  const { loadLua54 } = await import('../lua54/engine.ts')
  return loadLua54(wasmFile === undefined ? {} : { wasmFile })
}

function open({ functions, modules, limits }: Extract<ToWorker, { kind: 'open' }>): LuaState {
  const seed = proxy.call(seedTarget)
  return engine.createState({
    functions: functions.map((definition, target) => ({ ...definition, call: proxy.call(target) })),
    modules,
    limits,
    seed: () => Number((seed([]) as Values)[0]),
  })
}

async function run({ run: number, chunk, variables }: Extract<ToWorker, { kind: 'run' }>): Promise<Outcome> {
  const controller = new AbortController()
  runs.set(number, controller)
  try {
    if (holder.state === undefined) throw new Error('there is no state to run this in')
    return { kind: 'values', values: await holder.state.run(chunk, variables, controller.signal) }
  } catch (error) {
    return { kind: 'failed', message: messageOf(error), details: detailsOf(error) }
  } finally {
    runs.delete(number)
  }
}

/** Confirms the close once the runs of the state, which have been rejected, are reported. */
async function close(): Promise<void> {
  holder.state?.close()
  while (runs.size > 0) await nextTurn()
  delete holder.state
  post({ kind: 'closed' })
}

function detailsOf(error: unknown): SentDetails {
  if (!(error instanceof LuaError)) return {}
  const { chunk, line, traceback, limit, cause } = error
  return { chunk, line, traceback, limit, hostError: cause instanceof RemoteError ? cause.number : undefined }
}
