import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { manyListeners } from './limit.ts'
import { killAtExit, stopGroup } from './process-group.ts'

export interface ProcessOptions {
  /** A path, or a name that is looked for in `PATH`. No shell reads it. */
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>
  /** From the start to the end of the process. */
  readonly timeLimitMs: number
  /** What is kept of each of the two streams, in bytes; the rest is read and thrown away. */
  readonly maxOutputBytes: number
}

/** How a process ended. `not_started`: there is no such program, or it may not be run. */
export type ProcessEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'not_started'; readonly reason: string }

interface ProcessOutput {
  /** UTF-8; bytes that are not are U+FFFD. */
  readonly text: string
  /** How many bytes were thrown away. */
  readonly lost: number
}

export interface ProcessResult {
  readonly end: ProcessEnd
  readonly stdout: ProcessOutput
  readonly stderr: ProcessOutput
}

/** How long streams may stay open without the process that was started. */
const drainMs = 1_000

/**
 * Runs a program without input to its end (DESIGN 9, spec/systems.md D39). It leads a process group of its own, and the
 * group ends with it: what it left running is stopped by TERM and after 5 s by KILL. The same stops all of it at the
 * time limit and when `signal` is aborted. A process that left the group may go on, but nobody waits for it.
 * Rejects with the signal's reason and for nothing else.
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
    // a new session, so that the whole group can be signalled; execa's own clean-up does not reach it
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
  const nothing = { text: '', lost: 0 }
  return {
    end: { kind: 'not_started', reason: originalMessage ?? 'it cannot be run' },
    stdout: nothing,
    stderr: nothing,
  }
}

/** Does not wait for the streams, which another process may hold open. */
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
