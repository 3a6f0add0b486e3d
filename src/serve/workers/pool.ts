import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { atMost } from '../../base/concurrency.ts'
import { messageOf } from '../../base/error.ts'
import { packageRoot } from '../../package-root.ts'
import type { Broker } from './broker.ts'
import type { FromWorker, ToWorker } from './messages.ts'

/** A process that does the work of one run, or of one conversation. */
export interface RunWorker {
  /** Does nothing once the process has gone. */
  readonly send: (message: ToWorker) => void
  /** Calls the listener with each message, until the returned function is called. */
  readonly listen: (listener: (message: FromWorker) => void) => () => void
  /** Resolves when the process has gone, to how it crashed; undefined: it ended as it was asked to. */
  readonly gone: Promise<string | undefined>
  /** Ends it after its job. */
  readonly end: () => void
}

export interface WorkerPool {
  /** A worker that was started ahead, or a new one. Nobody else gets it. */
  readonly take: () => RunWorker
  /** Ends all workers, after their jobs. */
  readonly close: () => Promise<void>
}

export interface WorkerPoolOptions {
  /** The environment of the workers: all that runs may see. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** How many are started ahead. */
  readonly spare: number
  readonly broker: Broker
}

/** The first argument of a command that is a worker: src/cli/program.ts. */
const workerWord = '__worker'

/** Characters of what a worker has written that are kept, and how long is waited for the last ones, in milliseconds. */
const keptText = 4_000
const lateMs = 200
/** How long is waited for the last messages of a worker that has ended, in milliseconds. */
const unreadMs = 10_000

export function createWorkerPool({ env, cwd, spare, broker }: WorkerPoolOptions): WorkerPool {
  const all = new Set<RunWorker>()
  const spares: RunWorker[] = []
  let isClosed = false

  function start(): RunWorker {
    const worker = startWorker({ env, cwd, broker })
    all.add(worker)
    void worker.gone.then(() => {
      all.delete(worker)
      const index = spares.indexOf(worker)
      if (index !== -1) spares.splice(index, 1)
    })
    return worker
  }

  function prepare(): void {
    while (!isClosed && spares.length < spare) spares.push(start())
  }

  prepare()
  return {
    take() {
      const worker = spares.shift() ?? start()
      // a run starts before the next process does
      const stop = worker.listen(() => {
        stop()
        prepare()
      })
      return worker
    },
    async close() {
      isClosed = true
      const left = [...all]
      for (const worker of left) worker.end()
      await Promise.all(left.map(({ gone }) => gone))
    },
  }
}

function startWorker({ env, cwd, broker }: Pick<WorkerPoolOptions, 'env' | 'cwd' | 'broker'>): RunWorker {
  const child = fork(join(packageRoot(), 'dist/bin/baton.js'), [workerWord], {
    cwd,
    env: { ...env },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const listeners = new Set<(message: FromWorker) => void>()
  const send = (message: ToWorker): void => {
    if (child.connected) child.send(message, () => undefined)
  }
  const member = broker.join(send)
  child.on('message', (message: FromWorker) => {
    if (!member.take(message)) for (const listener of listeners) listener(message)
  })
  const gone = goneOf(child).finally(member.leave)
  return {
    send,
    gone,
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    end() {
      send({ kind: 'end' })
    },
  }
}

/** Of what it has written, only the last words of the engine are told, which contain no data. */
async function goneOf(child: ChildProcess): Promise<string | undefined> {
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => (said = (said + piece).slice(-keptText)))
  const closed = once(child, 'close').catch(() => undefined)
  const disconnected = once(child, 'disconnect').catch(() => undefined)
  try {
    const [code, signal] = await once(child, 'exit')
    // its end can be noticed before its last messages are read
    if (child.connected) await atMost(unreadMs, disconnected)
    if (code === 0) return undefined
    // what it has written may still be arriving, and another process may keep the pipe open
    await atMost(lateMs, closed)
    const [fatal] = /^FATAL ERROR: .{1,200}/m.exec(said) ?? []
    return [signal ?? `exit code ${code}`, ...(fatal === undefined ? [] : [fatal])].join(', ')
  } catch (error) {
    return `it could not be started: ${messageOf(error)}`
  }
}
