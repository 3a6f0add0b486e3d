import { resolve } from 'node:path'
import { closedPipe, messageOf, StopSignal } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { countOf, formatClock, formatCost, formatUsage } from '../../render/format.ts'
import { createPaint, type Paint } from '../../render/style.ts'
import type { SessionTotal, WatchEnd, WatchMessage } from '../../watch/session.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { type WatchedOptions, watchRuns } from '../../wiring/watch-runs.ts'
import type { Flags } from '../command-specs.ts'
import type { QuestionIo } from '../confirm.ts'
import { type CommandIo, surroundings } from '../io.ts'
import type { Screen } from '../present-run.ts'
import { describeError } from '../report.ts'
import { deliverTyped, discardTyped, isTerminal } from '../typed-ahead.ts'

/** Runs once and shows the run. */
export type RunEach = (
  options: WatchedOptions & { readonly onScreen: (hold: Screen['hold']) => void },
  io: QuestionIo,
) => Promise<Pick<RunReport, 'error' | 'exitCode' | 'usage' | 'costUsd'>>

/**
 * `baton run FILE --watch`: runs, and reruns when something that was read changes. The exit code is 0 after `q`, that
 * of the signal after a signal, and that of the error if the command line itself is wrong.
 */
export async function watchCommand(flags: Flags<'run'>, io: CommandIo, runEach: RunEach): Promise<number> {
  const around = surroundings(flags, io)
  const paint = createPaint({ env: around.env, isTerminal: io.errIsTerminal })
  let keys: Keys | undefined
  let endInterrupts: (() => void) | undefined
  /** Hides the live view of the run in progress. */
  let hold: Screen['hold'] | undefined
  try {
    const end = await watchRuns({
      around,
      async runEach(options, { signal }) {
        for (const written of [flags.output, flags.report]) {
          if (written !== undefined) options.log.changed(resolve(around.cwd, written))
        }
        const onScreen = (hide: Screen['hold']): void => void (hold = hide)
        try {
          return await runEach({ ...options, onScreen }, { ...io, signal, lend: keys?.lend })
        } finally {
          hold = undefined
        }
      },
      onError: (error) => io.err(describeError(error, { cwd: io.cwd, paint })),
      say(message) {
        const show = hold?.()
        io.err(describeWatch(message, { flags, cwd: io.cwd, paint, hasKeys: keys !== undefined }))
        show?.()
      },
      signal: io.signal,
      start({ key, interrupt }) {
        endInterrupts = io.onInterrupt(interrupt)
        if (flags.file !== '-') keys = readKeys({ ...io, onKey: key })
      },
    })
    return exitCodeFor(end, io.signal)
  } finally {
    keys?.end()
    endInterrupts?.()
  }
}

function exitCodeFor(end: WatchEnd, { reason }: AbortSignal): number {
  switch (end.kind) {
    case 'quit':
      return 0
    case 'refused':
      return end.exitCode
    case 'aborted':
      return reason instanceof StopSignal ? reason.exitCode : closedPipe
  }
}

interface KeyHandlers extends Pick<CommandIo, 'input' | 'interrupt' | 'suspend' | 'onContinue'> {
  readonly onKey: (key: string) => void
}

const controlC = '\u0003'
const controlZ = '\u001a'

interface Keys {
  readonly end: () => void
  /** Hands the terminal over for a question: what is typed meanwhile is no key. */
  readonly lend: () => Promise<() => void>
}

/**
 * Passes on each key that is pressed from now on; in raw mode, Ctrl-C and Ctrl-Z are keys, too. Undefined if standard
 * input is not a terminal.
 */
function readKeys({ onKey, ...io }: KeyHandlers): Keys | undefined {
  const { interrupt, suspend, onContinue } = io
  const terminal = io.input()
  if (!isTerminal(terminal)) return undefined
  let input = terminal
  let isLent = false
  // what was typed before the session was not meant for it
  let isTypedBefore = true
  const onData = (bytes: Buffer): void => {
    for (const key of bytes.toString('utf8')) {
      if (key === controlC) interrupt()
      else if (key === controlZ) {
        input.setRawMode(false)
        suspend()
      } else if (!isTypedBefore) onKey(key)
    }
  }
  // the shell has changed the mode of the terminal in the meantime
  const endContinue = onContinue(() => {
    if (!isLent) input.setRawMode(true)
  })
  // losing the terminal is reported by a signal
  const onError = (): void => undefined
  input.setRawMode(true)
  input.on('data', onData).on('error', onError)
  void deliverTyped(input).then(() => (isTypedBefore = false))
  return {
    end() {
      endContinue()
      input.off('data', onData).off('error', onError)
      input.setRawMode(false)
      input.pause()
    },
    async lend() {
      isLent = true
      input.off('data', onData)
      await discardTyped(input, { interrupt })
      return () => {
        isLent = false
        // Ctrl-D at the question has ended the stream
        const next = io.input()
        if (next !== input && isTerminal(next)) input = next.on('error', onError)
        input.setRawMode(true)
        input.on('data', onData).resume()
      }
    },
  }
}

interface WatchTextOptions {
  readonly flags: Pick<Flags<'run'>, 'json' | 'level'>
  readonly cwd: string
  readonly paint: Paint
  readonly hasKeys: boolean
}

/** What `--watch` prints on stderr, including the newline; empty if only events or errors are wanted. */
function describeWatch(message: WatchMessage, { flags, cwd, paint, hasKeys }: WatchTextOptions): string {
  const quietly = (text: string): string => (flags.json || flags.level === 'quiet' ? '' : `${text}\n`)
  const withHint = (text: string, hint: string): string => `${text}\n${paint('cyan', 'hint')}: ${hint}\n`
  switch (message.kind) {
    case 'started':
      return quietly(paint('dim', `── run ${message.run} · ${localTime(message.at)} ──`))
    case 'saved':
      return quietly(`${paint('cyan', 'saved')} ${pathList(message.paths, cwd)}: one more run follows this one`)
    case 'unchanged':
      return quietly(
        `${paint('yellow', 'no further run')}: ${pathList(message.paths, cwd)} is now as the run has read or changed it; ${hasKeys ? 'press r' : 'save it again'} to rerun`,
      )
    case 'ended':
      return quietly(paint('dim', totalText(message.total)))
    case 'changed':
      return quietly(`${paint('cyan', 'changed')} ${pathList(message.paths, cwd)}`)
    case 'reused': {
      const { reused, rerun } = message
      return reused === 0 ? '' : quietly(paint('dim', `${countOf(reused, 'part')} reused, ${rerun} rerun`))
    }
    case 'waiting': {
      const keys = hasKeys ? '; press r or Enter to rerun, q to quit' : ''
      return quietly(paint('dim', `watching ${countOf(message.files, 'file')}${keys}`))
    }
    case 'own':
      return quietly(paint('dim', `no run for what Baton itself has changed: ${pathList(message.paths, cwd)}`))
    case 'paused':
      return withHint(
        `${paint('yellow', 'paused')}: consecutive runs were started by changes made during runs: ${pathList(message.paths, cwd)}`,
        `Stop whatever writes them during a run, or save another file${hasKeys ? ' or press r' : ''} to continue.`,
      )
    case 'blind':
      return withHint(
        `${paint('yellow', 'warning')}: some changes may go unnoticed: ${messageOf(message.error)}`,
        'Raise the system limit of watched files, or set CHOKIDAR_USEPOLLING=1.',
      )
  }
}

/** `2026-11-29 16:05:11`, in the time zone of this machine. */
function localTime(at: number): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const time = new Date(at)
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(two).join('-')
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`
}

/** `session: 3 runs, 1 failed · 12m 05s · $0.013 · 45,120 tokens in, 3,201 out`. */
function totalText({ runs, failed, usage, costUsd, ms }: SessionTotal): string {
  const count = `${countOf(runs, 'run')}${failed === 0 ? '' : `, ${failed} failed`}`
  const cost = costUsd === null ? 'unpriced' : formatCost(costUsd)
  return `session: ${[count, formatClock(ms), cost, formatUsage(usage)].filter((text) => text !== '').join(' · ')}`
}

const mostPaths = 5

function pathList(paths: readonly string[], cwd: string): string {
  const named = paths.slice(0, mostPaths).map((path) => harmlessName(displayPath(cwd, path)))
  const more = paths.length - named.length
  return `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
}
