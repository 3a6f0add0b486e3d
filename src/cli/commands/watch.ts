import { isBatonError } from '../../base/error.ts'
import { resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { closedPipe, StopSignal } from '../../base/stop.ts'
import { possibleConfigFiles } from '../../config/locate.ts'
import { exitCodeOf } from '../../event/exit-code.ts'
import { createSessionBudget } from '../../journal/session-budget.ts'
import { hashPrompt } from '../../prompt/document.ts'
import { createPaint } from '../../render/style.ts'
import { createReuseSession } from '../../run/reuse.ts'
import { createSourceLog, type SourceLog } from '../../run/source-log.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import type { StartOptions } from '../../runner.ts'
import { createPrints } from '../../watch/prints.ts'
import { watch, type WatchedEnd, type WatchEnd, type WatchParts } from '../../watch/session.ts'
import { openWatcher } from '../../watch/watcher.ts'
import type { CommandIo } from '../io.ts'
import { readKeys } from '../keys.ts'
import type { RunFlags } from '../options.ts'
import { describeError } from '../report.ts'
import { describeWatch } from '../watch-text.ts'

export interface WatchedCommand {
  readonly flags: RunFlags
  readonly cwd: string
  readonly env: CommandIo['env']
}

/** One run, shown as always. */
export type RunEach = (
  options: Required<Pick<StartOptions, 'log' | 'openBudget' | 'reuse'>>,
  io: CommandIo,
) => Promise<Pick<RunReport, 'error' | 'exitCode'>>

/**
 * `baton run FILE --watch` (DESIGN 13 "Watch"): runs, and runs again when something that was read is different. Exit
 * code 0 after `q`, that of the signal after one, and that of the mistake when the command line itself is wrong.
 */
export async function watchCommand(command: WatchedCommand, io: CommandIo, runEach: RunEach): Promise<number> {
  const { flags, cwd, env } = command
  const paint = createPaint({ env, isTerminal: io.errIsTerminal })
  const openBudget = createSessionBudget()
  const session = createReuseSession()
  const prints = createPrints({ hashPrompt, now: () => Date.now() })
  let endKeys: (() => void) | undefined
  let endInterrupts: (() => void) | undefined

  const say: WatchParts['say'] = (message) =>
    io.err(describeWatch(message, { flags, cwd: io.cwd, paint, hasKeys: endKeys !== undefined }))

  const run: WatchParts['run'] = async (before, signal, cause) => {
    const log = createSourceLog({ prints, before })
    const reuse = session.next({ log, repeats: cause === 'again' ? 'everything' : 'what changed' })
    for (const file of possibleConfigFiles({ cwd, env, home: io.home })) log.file(file)
    if (flags.output !== undefined) log.changed(resolve(cwd, flags.output))
    try {
      return endOf(await runEach({ log, openBudget, reuse }, { ...io, signal }), log)
    } catch (error) {
      if (!isBatonError(error) || error.code === 'USAGE') throw error
      io.err(describeError(error, { cwd: io.cwd, paint }))
      return endOf({ error, exitCode: exitCodeOf(error) }, log)
    } finally {
      say({ kind: 'reused', ...(await reuse.end()) })
    }
  }

  try {
    const end = await watch(
      {
        run,
        open: openWatcher,
        clock: systemClock,
        say,
      },
      {
        signal: io.signal,
        start({ key, interrupt }) {
          endInterrupts = io.onInterrupt(interrupt)
          if (flags.file === '-') return
          const { interrupt: onInterrupt, suspend: onSuspend, onContinue } = io
          endKeys = readKeys(io.input(), { onKey: key, onInterrupt, onSuspend, onContinue })
        },
      },
    )
    return exitCodeFor(end, io.signal)
  } finally {
    session.close()
    endKeys?.()
    endInterrupts?.()
  }
}

/** What is wrong with the command line itself stays wrong, whatever is saved. */
function endOf({ error, exitCode }: Pick<RunReport, 'error' | 'exitCode'>, log: SourceLog): WatchedEnd {
  if (isBatonError(error) && error.code === 'USAGE' && error.place === undefined) return { kind: 'refused', exitCode }
  return { kind: 'watch', plan: log.plan({ keep: exitCode !== 0 }) }
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
