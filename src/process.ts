import { homedir } from 'node:os'
import { closedPipe, StopSignal } from './base/stop.ts'
import { exitCodeOf } from './event/exit-code.ts'
import { createPaint } from './render/style.ts'
import type { CommandIo } from './cli/io.ts'
import { runProgram } from './cli/program.ts'
import { describeError } from './cli/report.ts'

/** One call of the command, from the process to its exit code. What it throws is told on stderr. */
export async function main(args: readonly string[]): Promise<number> {
  const io = createIo(listenForSignals())
  try {
    return await runProgram(args, io)
  } catch (error) {
    if (error instanceof StopSignal) {
      process.stderr.write(`${error.message}\n`)
      return error.exitCode
    }
    const paint = createPaint({ env: process.env, isTerminal: io.errIsTerminal })
    process.stderr.write(describeError(error, { cwd: io.cwd, paint }))
    return exitCodeOf(error)
  }
}

function createIo({ stop, interrupts }: Signals): CommandIo {
  // whoever reads the result has left: stop like every other command in a pipe; messages alone are just not seen
  process.stdout.on('error', () => stop.abort(new StopSignal('a closed pipe', closedPipe)))
  process.stderr.on('error', () => undefined)
  return {
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    input: () => process.stdin,
    out: (text) => void process.stdout.write(text),
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
