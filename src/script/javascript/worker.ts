// The thread of a JavaScript box (box.ts). It is a separate entry point: nothing imports it.
import { parentPort, workerData } from 'node:worker_threads'
import { askAndWait } from '../thread/ask.ts'
import { clockOf } from '../thread/clock.ts'
import type { ThreadSetup } from '../thread/thread.ts'
import type { Answer, FromWorker, ToWorker } from './protocol.ts'
import { loadQuickJS } from './quickjs.ts'
import { runProgram } from './run-program.ts'
import type { HostCalls } from './program-context.ts'

const parent = parentPort
if (parent === null) throw new Error('this file must be run as a worker thread')
const { answers, clock: memory } = workerData as ThreadSetup
const clock = clockOf(memory)
const post = (message: FromWorker): void => parent.postMessage(message)
const calls: HostCalls = {
  ask: (asked) => askAndWait<Answer>(() => post({ kind: 'ask', calls: asked }), { answers, clock }),
  tell: (call) => post({ kind: 'tell', ...call }),
  waitedMs: () => clock.waitedMs[0] ?? 0,
}

// the engine reads the time zone, which must not affect what a program does
Date.prototype.getTimezoneOffset = () => 0

// it prints its failures, which are reported as errors
for (const name of ['log', 'warn', 'error'] as const) console[name] = () => undefined

const engine = loadQuickJS()
parent.on('message', (request: ToWorker) => {
  void runProgram(engine, request, calls, () => post({ kind: 'begun' })).then((end) => post({ kind: 'done', end }))
})
