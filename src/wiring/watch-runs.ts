import { systemClock } from '../base/clock.ts'
import { isBatonError } from '../base/error.ts'
import { possibleConfigFiles, type Surroundings } from '../config/locate.ts'
import { exitCodeOf } from '../event/exit-code.ts'
import { createSessionBudget } from '../journal/placed-budgets.ts'
import { openSigningKey } from '../journal/signing.ts'
import { hashPrompt } from '../prompt/document.ts'
import { createReuseSession } from '../run/reuse.ts'
import { createSourceLog, type SourceLog } from '../run/source-log.ts'
import { findOwnChanges } from '../tool/own-changes.ts'
import { createPrints } from '../watch/prints.ts'
import {
  type RunCause,
  watch,
  type WatchControls,
  type WatchedEnd,
  type WatchEnd,
  type WatchParts,
} from '../watch/session.ts'
import { openWatcher } from '../watch/watcher.ts'
import type { RunReport, Surroundings as RunSurroundings } from './conduct.ts'

/** What each run of a watch session gets: the runs share a budget, and reuse what did not change. */
export type WatchedOptions = Required<Pick<RunSurroundings, 'log' | 'openBudget' | 'reuse'>>

export interface WatchRunsOptions {
  /** Where the runs work: config files that appear there are noticed. */
  readonly around: Surroundings
  /** Executes one run. Aborting the signal stops it. */
  readonly runEach: (
    options: WatchedOptions,
    run: { readonly signal: AbortSignal; readonly cause: RunCause },
  ) => Promise<Pick<RunReport, 'error' | 'exitCode'>>
  /** Gets an error that a run threw. An error of the command line itself ends watching and is thrown. */
  readonly onError: (error: unknown) => void
  readonly say: WatchParts['say']
  readonly start: (controls: WatchControls) => void
  readonly signal: AbortSignal
}

/** Runs, and reruns when a file that a run read changes, until the signal is aborted or `q` is pressed. */
export async function watchRuns({ around, runEach, onError, say, start, signal }: WatchRunsOptions): Promise<WatchEnd> {
  const openBudget = createSessionBudget()
  const session = createReuseSession({ openKey: () => openSigningKey(around) })
  const prints = createPrints({ hashPrompt, now: () => Date.now() })

  let since = 0

  const run: WatchParts['run'] = async (before, runSignal, cause) => {
    since = Date.now()
    const log = createSourceLog({ prints, before })
    const reuse = session.next({ log, repeats: cause === 'requested' ? 'everything' : 'what changed' })
    for (const file of possibleConfigFiles(around)) log.file(file)
    try {
      return endOf(await runEach({ log, openBudget, reuse }, { signal: runSignal, cause }), log)
    } catch (error) {
      if (!isBatonError(error) || error.code === 'USAGE') throw error
      onError(error)
      return endOf({ error, exitCode: exitCodeOf(error) }, log)
    } finally {
      say({ kind: 'reused', ...(await reuse.end()) })
    }
  }

  try {
    const own: WatchParts['ownAmong'] = (paths) => findOwnChanges(paths, since, around)
    return await watch({ run, open: openWatcher, ownAmong: own, clock: systemClock, say }, { signal, start })
  } finally {
    session.close()
  }
}

/** An error in the command line itself cannot be fixed by saving a file. */
function endOf({ error, exitCode }: Pick<RunReport, 'error' | 'exitCode'>, log: SourceLog): WatchedEnd {
  if (isBatonError(error) && error.code === 'USAGE' && error.place === undefined) return { kind: 'refused', exitCode }
  return { kind: 'watch', plan: log.plan({ keep: exitCode !== 0 }) }
}
