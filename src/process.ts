import { homedir } from 'node:os'
import { BatonError, messageOf } from './base/error.ts'
import { closedPipe, OutputLost, StopSignal } from './base/stop.ts'
import { exitCodeOf } from './event/exit-code.ts'
import { createPaint } from './render/style.ts'
import type { CommandIo } from './cli/io.ts'
import { createOutlet, type Outlet } from './cli/outlet.ts'
import { runProgram } from './cli/program.ts'
import { describeError } from './cli/report.ts'

/**
 * One call of the command, from the process to its exit code. What it throws is told on stderr. It has failed when its
 * result is not where it belongs (DESIGN 12).
 */
export async function main(args: readonly string[]): Promise<number> {
  const signals = listenForSignals()
  // a result that reaches nobody is not worked for; messages alone are just not seen
  const onLost = (lost: OutputLost): void => signals.stop.abort(lost)
  const outlet = createOutlet({ stream: process.stdout, descriptor: 1, onLost })
  process.stderr.on('error', () => undefined)

  const io = createIo(signals, outlet)
  const exitCode = await run(args, io)
  const lost = await outlet.end()
  if (lost === undefined) return exitCode
  if (lost.exitCode !== closedPipe) tell(unwritten(lost), io)
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
    tell(error, io)
    return exitCodeOf(error)
  }
}

function unwritten({ cause }: OutputLost): BatonError {
  return new BatonError('FILE_FAILED', `stdout cannot be written: ${messageOf(cause)}`, {
    hint: 'The result is not complete. Look at the disk or device that stdout leads to.',
  })
}

function tell(error: unknown, { cwd, env, err, errIsTerminal }: CommandIo): void {
  err(describeError(error, { cwd, paint: createPaint({ env, isTerminal: errIsTerminal }) }))
}

function createIo({ stop, interrupts }: Signals, outlet: Outlet): CommandIo {
  return {
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    input: () => process.stdin,
    out: outlet.write,
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
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
    interrupt: () => void process.kill(process.pid, 'SIGINT'),
    suspend: () => void process.kill(process.pid, 'SIGTSTP'),
  }
}

interface Signals {
  readonly stop: AbortController
  /** Asked before Ctrl-C stops anything. */
  readonly interrupts: Set<() => boolean>
}

/** The first signal stops cleanly, the second kills. */
function listenForSignals(): Signals {
  const controller = new AbortController()
  const interrupts = new Set<() => boolean>()
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(code)
      if (name === 'SIGINT' && [...interrupts].some((first) => first())) return
      controller.abort(new StopSignal(name, code))
    })
  }
  return { stop: controller, interrupts }
}
