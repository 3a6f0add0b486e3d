// The thread of an isolated engine (engine.ts). It is an entry of its own: nothing imports it.
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../base/error.ts'
import { type LuaEngine, LuaError, type LuaState, type LuaValue } from '../engine.ts'
import { createHostProxy, RemoteError } from './host-proxy.ts'
import {
  clockOf,
  type FromWorker,
  type RunOutcome,
  seedTarget,
  type SentDetails,
  type ToWorker,
  type WorkerSetup,
} from './protocol.ts'

const parent = parentPort
if (parent === null) throw new Error('this file is started as a worker thread')
const { engine: engineName, wasmFile, clock, answers } = workerData as WorkerSetup
const post = (message: FromWorker): void => parent.postMessage(message)
const proxy = createHostProxy({ post, answers, clock: clockOf(clock) })
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
    seed: () => {
      const [value] = seed([]) as readonly LuaValue[]
      return Number(value)
    },
  })
}

async function run({ run: number, chunk, variables }: Extract<ToWorker, { kind: 'run' }>): Promise<RunOutcome> {
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

/** Says so once nothing of the state runs any more; its runs have been rejected and are told about first. */
async function close(): Promise<void> {
  holder.state?.close()
  while (runs.size > 0) {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  delete holder.state
  post({ kind: 'closed' })
}

function detailsOf(error: unknown): SentDetails {
  if (!(error instanceof LuaError)) return {}
  const { chunk, line, traceback, limit, cause } = error
  return {
    ...(chunk === undefined ? {} : { chunk }),
    ...(line === undefined ? {} : { line }),
    ...(traceback === undefined ? {} : { traceback }),
    ...(limit === undefined ? {} : { limit }),
    ...(cause instanceof RemoteError ? { hostError: cause.number } : {}),
  }
}
