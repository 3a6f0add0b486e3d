import { execa } from 'execa'
import type { Readable, Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startLimit } from './clock.ts'
import { atMost, manyListeners } from './concurrency.ts'
import { gatedProgram, gateWord, type Program } from './process-gate.ts'
import { signalGroup, stopGroup } from './process-group.ts'

/** The program to run. No shell interprets command or arguments; the environment is complete: nothing is inherited. */
export interface ProcessOptions extends Program {
  /** From the start to the end of the process. */
  readonly timeLimitMs: number
  /**
   * Called with its id, which is also that of its group, before the program starts (on Windows: as soon as it runs).
   */
  readonly onStart?: (pid: number) => void
  /** Bytes kept of each of stdout and stderr; the rest is read and dropped. */
  readonly maxOutputBytes: number
  /** Its stdin; default: empty. */
  readonly input?: string
}

/** How a process ended. `not_started`: the program does not exist, or cannot be executed. */
export type ProcessEnd = RunEnd | NotStarted

type RunEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }

export interface NotStarted {
  readonly kind: 'not_started'
  readonly reason: string
}

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

/**
 * Runs a program to its end, in its own process group. When it ends, at the time limit, and when `signal` is aborted,
 * everything left in the group is stopped: TERM, and KILL after 5 s. A process that has left the group is not waited
 * for. Rejects only with the signal's reason.
 */
export async function runProcess(
  options: ProcessOptions,
  signal: AbortSignal,
  begin: (options: StartOptions) => Promise<StartedProcess | NotStarted> = startProcess,
): Promise<ProcessResult> {
  signal.throwIfAborted()
  const { maxOutputBytes, input, ...start } = options
  const stdout = createCollector(maxOutputBytes)
  const stderr = createCollector(maxOutputBytes)
  const onOutput = { stdout: stdout.add, stderr: stderr.add }
  const started = await begin({ ...start, onOutput, ...(input === undefined ? {} : { readsInput: true }) })
  if (started.kind === 'not_started') return { end: started, stdout: stdout.take(), stderr: stderr.take() }
  if (input !== undefined) {
    started.write(input)
    started.endInput()
  }
  const { end } = await untilEnded(started, signal)
  return { end, stdout: stdout.take(), stderr: stderr.take() }
}

/** Waits for the end of a process, which is stopped when the signal is aborted. Rejects with the signal's reason. */
export async function untilEnded<Ended extends EndedProcess>(
  { ended, stop }: Pick<StartedProcess, 'stop'> & { readonly ended: Promise<Ended> },
  signal: AbortSignal,
): Promise<Ended> {
  const onAbort = (): void => void stop()
  if (signal.aborted) onAbort()
  manyListeners(signal).addEventListener('abort', onAbort, { once: true })
  try {
    const end = await ended
    signal.throwIfAborted()
    return end
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

export interface StartOptions extends Omit<ProcessOptions, 'timeLimitMs' | 'maxOutputBytes' | 'input'> {
  /** Default: no limit. */
  readonly timeLimitMs?: number
  readonly onOutput: { readonly [Stream in 'stdout' | 'stderr']: (bytes: Buffer) => void }
  /** Called with what the process writes to file descriptor 3; `answer` sends text back over it. */
  readonly onMessage?: (bytes: Buffer, answer: (text: string) => void) => void
  /** The same for file descriptor 4. */
  readonly onStatus?: (bytes: Buffer) => void
  /** The leader of a group that gets TERM instead of its own, whose end would kill that one. Undefined: none yet. */
  readonly innerLeader?: () => number | undefined
  /** Its stdin receives what is passed to `write`; default: stdin is empty. */
  readonly readsInput?: true
}

export interface EndedProcess {
  readonly end: RunEnd
  /** It exited on its own and left other processes running in its group, which were stopped. */
  readonly leftOthers: boolean
}

/** A running process, with everything in its group. */
export interface StartedProcess {
  readonly kind: 'started'
  /** Also the id of its group. */
  readonly pid: number
  /** Resolves when it has ended, its output has been read, and nothing is left in its group. Never rejects. */
  readonly ended: Promise<EndedProcess>
  /** Stops everything in its group: TERM, and KILL after 5 s. */
  readonly stop: () => Promise<void>
  /** Writes to its stdin; what it does not read because it has ended is dropped. */
  readonly write: (text: string) => void
  /** Closes its stdin. */
  readonly endInput: () => void
}

/** How long streams may stay open after the process has ended. */
const drainMs = 1_000

/**
 * Starts a program in its own process group and session, so that it finds no terminal. Everything left in the group is
 * stopped when the program ends, and the whole group when this process exits. A process that has left the group is not
 * waited for. Rejects only with what `onStart` throws.
 */
export async function startProcess(options: StartOptions): Promise<StartedProcess | NotStarted> {
  const { timeLimitMs, onOutput } = options
  const gate = options.onStart === undefined ? undefined : gatedProgram(options)
  const child = spawn(options, gate)
  const { pid } = child
  if (pid === undefined) return { kind: 'not_started', reason: (await child).originalMessage ?? 'it cannot be run' }

  try {
    options.onStart?.(pid)
  } catch (error) {
    signalGroup(pid, 'SIGKILL')
    throw error
  }
  const exited = exitOf(child)
  const input = child.stdio[0] as Writable | null
  // it may have ended, which `ended` reports
  input?.on('error', () => {})
  if (gate !== undefined) input?.write(gateWord)
  if (options.readsInput !== true) input?.end()
  const { onMessage, onStatus } = options
  const answer = (text: string): void => void (child.stdio[3] as Writable).on('error', () => {}).write(text)
  const readMessage = onMessage === undefined ? undefined : (bytes: Buffer) => onMessage(bytes, answer)
  const readers = [onOutput.stdout, onOutput.stderr, readMessage, onStatus]
  const streams = readers.flatMap((read, at) => (read === undefined ? [] : [streamOf(child, at + 1).on('data', read)]))
  const closed = Promise.all(streams.map(closing))
  const forget = killAtExit(pid)
  let stopping: Promise<boolean> | undefined
  let timedOut = false
  const stopAll = async (): Promise<boolean> => {
    // what it has written before is read first: it may name the group that gets TERM
    if (options.innerLeader !== undefined) await nextTurn()
    return stopGroup(pid, options.innerLeader?.())
  }
  const stop = (): Promise<boolean> => (stopping ??= stopAll())
  const endLimit =
    timeLimitMs === undefined
      ? undefined
      : startLimit(timeLimitMs, () => {
          timedOut = true
          void stop()
        })

  async function untilGone(): Promise<EndedProcess> {
    const end = await exited
    endLimit?.()
    const wasStopped = stopping !== undefined
    await atMost(drainMs, closed)
    const others = await stop()
    await atMost(drainMs, closed)
    forget()
    for (const stream of [...streams, input]) stream?.destroy()
    return { end: timedOut ? { kind: 'timed_out' } : end, leftOthers: others && !wasStopped }
  }

  return {
    kind: 'started',
    pid,
    ended: untilGone(),
    stop: async () => void (await stop()),
    write: (text) => void input?.write(text),
    endInput: () => void input?.end(),
  }
}

type Child = ReturnType<typeof spawn>

function spawn(options: StartOptions, gate: ReturnType<typeof gatedProgram>) {
  const { command, args } = gate ?? options
  const piped = (user: unknown): 'pipe' | 'ignore' => (user === undefined ? 'ignore' : 'pipe')
  const channels = [piped(options.onMessage), piped(options.onStatus)]
  return execa(command, args, {
    cwd: options.cwd,
    env: options.environment,
    extendEnv: false,
    // its own group, which can be signaled as a whole; execa's own cleanup does not
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    encoding: 'buffer',
    // only the descriptors that are used
    stdio: [piped(gate ?? options.readsInput), 'pipe', 'pipe', ...channels.slice(0, channels.lastIndexOf('pipe') + 1)],
    windowsHide: true,
  })
}

function streamOf({ stdio }: Child, descriptor: number): Readable {
  return stdio[descriptor] as Readable
}

/** Does not wait for the streams, which another process may keep open. */
function exitOf(child: Child): Promise<RunEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'SIGKILL' } : { kind: 'exited', code }),
    )
  })
}

function closing(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve)
    stream.on('error', () => resolve())
  })
}

/** Keeps the start of a stream. */
function createCollector(maxBytes: number) {
  const chunks: Buffer[] = []
  let kept = 0
  let lost = 0
  return {
    add: (chunk: Buffer): void => {
      const part = chunk.subarray(0, maxBytes - kept)
      if (part.length > 0) chunks.push(part)
      kept += part.length
      lost += chunk.length - part.length
    },
    take: (): ProcessOutput => ({
      text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks)),
      lost,
    }),
  }
}

/** Kills the group if this process exits before the returned function is called. */
function killAtExit(leader: number): () => void {
  const kill = (): void => void signalGroup(leader, 'SIGKILL')
  // any number of commands may run at the same time: each allows for its own listener, so that Node does not warn of a
  // leak
  process.setMaxListeners(process.getMaxListeners() + 1)
  process.on('exit', kill)
  return () => {
    process.off('exit', kill)
    process.setMaxListeners(process.getMaxListeners() - 1)
  }
}
