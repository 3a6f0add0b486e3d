import { fstatSync, writeSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { format } from 'node:util'
import { guarded, harmlessName } from './base/terminal-text.ts'
import { homeFolder } from './base/home.ts'
import { BatonError, closedPipe, messageOf, OutputLost, StopSignal } from './base/error.ts'
import type { CommandIo } from './cli/io.ts'
import { runProgram } from './cli/program.ts'
import { describeError } from './cli/report.ts'
import { exitCodeOf } from './event/exit-code.ts'
import { createPaint } from './render/style.ts'

/**
 * One call of the command, from the process to its exit code. Errors are reported on stderr. The command fails if its
 * result cannot be written.
 */
export async function main(args: readonly string[]): Promise<number> {
  const signals = listenForSignals()
  // no work is done for a result that nobody can read; messages without a reader are only lost
  const onLost = (lost: OutputLost): void => signals.stop.abort(lost)
  const outlet = createOutlet({ stream: process.stdout, descriptor: 1, onLost })
  process.stderr.on('error', () => undefined)

  const cwd = currentFolder()
  const io = createIo(signals, { outlet, cwd: cwd ?? '/' })
  catchConsole(io)
  if (cwd === undefined) {
    const error = folderGone()
    report(error, io)
    return exitCodeOf(error)
  }
  const exitCode = await run(args, io)
  const lost = await outlet.end()
  if (lost === undefined) return exitCode
  if (lost.exitCode !== closedPipe) report(unwritten(lost), io)
  return exitCode === 0 ? lost.exitCode : exitCode
}

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await runProgram(args, io)
  } catch (error) {
    if (error instanceof StopSignal) {
      if (!(error instanceof OutputLost)) io.err(`${error.message}\n`)
      return error.exitCode
    }
    report(error, io)
    return exitCodeOf(error)
  }
}

function folderGone(): BatonError {
  return new BatonError('USAGE', 'the current folder does not exist', {
    hint: 'It was removed or replaced: change to a folder that exists, and try again.',
  })
}

function unwritten({ cause }: OutputLost): BatonError {
  return new BatonError('FILE_FAILED', `stdout cannot be written: ${messageOf(cause)}`, {
    hint: 'The result is incomplete. Check the disk or device that stdout leads to.',
  })
}

function report(error: unknown, { cwd, env, err, errIsTerminal }: CommandIo): void {
  err(describeError(error, { cwd, paint: createPaint({ env, isTerminal: errIsTerminal }) }))
}

/** The current folder; undefined if it was removed, or may not be entered. */
function currentFolder(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}

function createIo(
  { stop, interrupts, interrupt }: Signals,
  { outlet, cwd }: { outlet: Outlet; cwd: string },
): CommandIo {
  const outIsTerminal = process.stdout.isTTY === true
  const errIsTerminal = process.stderr.isTTY === true
  const draw = (text: string): void => void process.stderr.write(text)
  return {
    env: process.env,
    cwd,
    home: homeFolder(),
    input: createInput(),
    inputKind,
    out: outIsTerminal ? (text) => outlet.write(guarded(text)) : outlet.write,
    // logs are read by terminals and other programs later
    err: (text) => draw(guarded(text)),
    draw,
    outIsTerminal,
    errIsTerminal,
    columns: () => process.stderr.columns || 80,
    rows: () => process.stderr.rows || 24,
    onContinue: (listener) => {
      process.on('SIGCONT', listener)
      return () => process.off('SIGCONT', listener)
    },
    signal: stop.signal,
    onInterrupt: (first) => {
      interrupts.add(first)
      return () => interrupts.delete(first)
    },
    interrupt,
    suspend: () => void process.kill(process.pid, 'SIGTSTP'),
  }
}

/** Standard input. Ctrl-D at a terminal ends a stream, but not the terminal: it is opened again. */
function createInput(): () => Readable {
  let last: Readable | undefined
  return () => {
    if (last?.readableEnded === true && 'isTTY' in last) last = openTerminal()
    return (last ??= process.stdin)
  }
}

function openTerminal(): Readable {
  const terminal = new (process.getBuiltinModule('node:tty').ReadStream)(0)
  // unlike standard input, it goes on reading while it is paused, which must not keep the process alive
  return terminal.on('pause', () => terminal.unref()).on('resume', () => terminal.ref())
}

/** Packages warn with what a server has sent, which must not act on a terminal or begin lines in a log. */
function catchConsole({ err }: CommandIo): void {
  const warn = (...parts: readonly unknown[]): void => err(`warning ${harmlessName(format(...parts))}\n`)
  Object.assign(console, { warn, error: warn, log: warn, info: warn, debug: warn })
}

function inputKind(): ReturnType<CommandIo['inputKind']> {
  try {
    const status = fstatSync(0)
    // does not check whether it is a terminal: Node loads five modules for that
    if (status.isCharacterDevice()) return 'device'
    if (status.isFIFO()) return 'pipe'
    if (status.isSocket()) return 'socket'
    return status.isFile() && status.size > 0 ? 'file' : 'none'
  } catch {
    // it is closed
    return 'none'
  }
}

interface Signals {
  readonly stop: AbortController
  /** Called before Ctrl-C stops anything. */
  readonly interrupts: Set<() => boolean>
  /** Does what SIGINT does, at once: a signal would arrive after further keys. */
  readonly interrupt: () => void
}

/** The first signal stops cleanly, the second kills. */
function listenForSignals(): Signals {
  const stop = new AbortController()
  const interrupts = new Set<() => boolean>()
  const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
  const receive = (name: keyof typeof exitCodes): void => {
    if (stop.signal.aborted) process.exit(exitCodes[name])
    if (name === 'SIGINT' && [...interrupts].some((first) => first())) return
    stop.abort(new StopSignal(name, exitCodes[name]))
  }
  for (const name of Object.keys(exitCodes) as (keyof typeof exitCodes)[]) process.on(name, () => receive(name))
  return { stop, interrupts, interrupt: () => receive('SIGINT') }
}

/** Where the result of a command goes. */
interface Outlet {
  readonly write: (text: string) => void
  /** Resolves once everything is written, or with the error that prevented it. Never rejects. */
  readonly end: () => Promise<OutputLost | undefined>
}

interface OutletOptions {
  readonly stream: Writable
  /** The descriptor that the stream writes to. */
  readonly descriptor: number
  /** Called once, during the write that fails or later. Later writes are dropped: they would leave a gap. */
  readonly onLost: (lost: OutputLost) => void
}

/** Detects that the output is incomplete. Streams report that after the write, even after their end. */
export function createOutlet({ stream, descriptor, onLost }: OutletOptions): Outlet {
  const isFile = leadsToFile(descriptor) && !('isTTY' in stream && stream.isTTY === true)
  let lost: OutputLost | undefined
  let pending = 0
  let onIdle: (() => void) | undefined

  function lose(error: Error): void {
    if (lost !== undefined) return
    lost = new OutputLost(error)
    onLost(lost)
  }

  function written(error: Error | null | undefined): void {
    pending -= 1
    if (error) lose(error)
    if (pending === 0) onIdle?.()
  }

  stream.on('error', lose)
  return {
    write(text) {
      if (lost !== undefined) return
      if (isFile) return writeAll(descriptor, text, lose)
      pending += 1
      stream.write(text, written)
    },
    async end() {
      if (pending > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      return lost
    },
  }
}

/** Writes to a file or device: Node's stream for these silently drops whatever did not fit in the first write. */
function leadsToFile(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor)
    return status.isFile() || status.isCharacterDevice()
  } catch {
    return false
  }
}

function writeAll(descriptor: number, text: string, onError: (error: Error) => void): void {
  const bytes = Buffer.from(text)
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    onError(error)
  }
}
