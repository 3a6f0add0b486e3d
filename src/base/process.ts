import { execa } from 'execa'
import { platform } from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { manyListeners } from './concurrency.ts'

export interface ProcessOptions {
  /** A path, or a name that is looked up in `PATH`. Not interpreted by a shell. */
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The complete environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>
  /** From the start to the end of the process. */
  readonly timeLimitMs: number
  /** Bytes kept of each of the two streams; the rest is read and dropped. */
  readonly maxOutputBytes: number
}

/** How a process ended. `not_started`: the program does not exist, or cannot be executed. */
export type ProcessEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'not_started'; readonly reason: string }

interface ProcessOutput {
  /** UTF-8; invalid bytes are U+FFFD. */
  readonly text: string
  /** Number of bytes that were dropped. */
  readonly lost: number
}

export interface ProcessResult {
  readonly end: ProcessEnd
  readonly stdout: ProcessOutput
  readonly stderr: ProcessOutput
}

/** How long streams may stay open after the process has ended. */
const drainMs = 1_000

/**
 * Runs a program without input to its end, in its own process group. When it ends, at the time limit, and when `signal`
 * is aborted, everything left in the group is stopped: TERM, and KILL after 5 s. A process that has left the group is
 * not waited for. Rejects with the signal's reason and for nothing else.
 */
export async function runProcess(options: ProcessOptions, signal: AbortSignal): Promise<ProcessResult> {
  signal.throwIfAborted()
  const child = spawn(options)
  const { pid } = child
  if (pid === undefined) return notStarted(await child)

  const exited = exitOf(child)
  const stdout = collect(child.stdout, options.maxOutputBytes)
  const stderr = collect(child.stderr, options.maxOutputBytes)
  const closed = Promise.all([stdout.closed, stderr.closed])
  const forget = killAtExit(pid)
  let timedOut = false
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => (stopping ??= stopGroup(pid))
  const onAbort = (): void => void stop()
  const timer = setTimeout(() => {
    timedOut = true
    void stop()
  }, options.timeLimitMs)
  manyListeners(signal).addEventListener('abort', onAbort, { once: true })
  try {
    const end = await exited
    clearTimeout(timer)
    await atMost(drainMs, closed)
    await stop()
    await atMost(drainMs, closed)
    signal.throwIfAborted()
    return { end: timedOut ? { kind: 'timed_out' } : end, stdout: stdout.take(), stderr: stderr.take() }
  } finally {
    signal.removeEventListener('abort', onAbort)
    forget()
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

type Child = ReturnType<typeof spawn>

function spawn({ command, args, cwd, environment }: ProcessOptions) {
  return execa(command, args, {
    cwd,
    env: environment,
    extendEnv: false,
    // its own group, which can be signalled as a whole; execa's own cleanup does not
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    encoding: 'buffer',
    stdin: 'ignore',
    windowsHide: true,
  })
}

function notStarted({ originalMessage }: Awaited<Child>): ProcessResult {
  const empty = { text: '', lost: 0 }
  return { end: { kind: 'not_started', reason: originalMessage ?? 'it cannot be run' }, stdout: empty, stderr: empty }
}

/** Does not wait for the streams, which another process may keep open. */
function exitOf(child: Child): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'SIGKILL' } : { kind: 'exited', code }),
    )
  })
}

interface Collected {
  readonly closed: Promise<void>
  take(): ProcessOutput
}

function collect(stream: Readable, maxBytes: number): Collected {
  const chunks: Buffer[] = []
  let kept = 0
  let lost = 0
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, maxBytes - kept)
    if (part.length > 0) chunks.push(part)
    kept += part.length
    lost += chunk.length - part.length
  })
  return {
    closed: new Promise((resolve) => {
      stream.once('close', resolve)
      stream.once('error', () => resolve())
    }),
    take: () => ({ text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks)), lost }),
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined)])
  timer.abort()
}

/** Between TERM and KILL. */
const graceMs = 5_000
const pollMs = 20

/**
 * Sends a signal to all processes of a group, by the id of its leader; 0 only checks. False when none is left. On
 * Windows, which has no groups, only to the process itself.
 */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(platform() === 'win32' ? leader : -leader, signal)
    return true
  } catch {
    return false
  }
}

/** Stops a group: TERM, and KILL after 5 s. Resolves when no process is left or KILL was sent. */
async function stopGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return
  for (let waited = 0; waited < graceMs; waited += pollMs) {
    await sleep(pollMs)
    if (!signalGroup(leader, 0)) return
  }
  signalGroup(leader, 'SIGKILL')
}

/** Kills the group when this process exits before the returned function is called. */
function killAtExit(leader: number): () => void {
  const kill = (): void => void signalGroup(leader, 'SIGKILL')
  // any number of commands may run at once: each allows for its own listener, so that Node does not warn of a leak
  process.setMaxListeners(process.getMaxListeners() + 1)
  process.on('exit', kill)
  return () => {
    process.off('exit', kill)
    process.setMaxListeners(process.getMaxListeners() - 1)
  }
}
