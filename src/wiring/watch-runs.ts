import { systemClock } from '../base/clock.ts'
import { isBatonError } from '../base/error.ts'
import { possibleConfigFiles, type Surroundings } from '../config/locate.ts'
import { addUsage, noUsage } from '../event/message.ts'
import { exitCodeOf } from '../event/exit-code.ts'
import { createSessionBudget } from '../journal/placed-budgets.ts'
import { openSigningKey } from '../journal/signing.ts'
import { hashPrompt } from '../prompt/document.ts'
import { createReuseSession } from '../run/reuse.ts'
import { createSourceLog, type SourceLog } from '../run/source-log.ts'
import { findOwnChanges } from '../tool/own-changes.ts'
import { createPrints } from '../watch/prints.ts'
import {
  type Reading,
  type RunCause,
  type SessionTotal,
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
  ) => Promise<Pick<RunReport, 'error' | 'exitCode' | 'usage' | 'costUsd'>>
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
  let reading: SourceLog | undefined
  const sum = createSum()

  const run: WatchParts['run'] = async (before, runSignal, cause) => {
    since = Date.now()
    say({ kind: 'started', run: sum.begin(), at: since })
    const log = createSourceLog({ prints, before })
    const reuse = session.next({ log, repeats: cause === 'requested' ? 'everything' : 'what changed' })
    for (const file of possibleConfigFiles(around)) log.file(file)
    reading = log
    try {
      const report = await runEach({ log, openBudget, reuse }, { signal: runSignal, cause })
      sum.add(report)
      return endOf(report, log)
    } catch (error) {
      if (!isBatonError(error) || error.code === 'USAGE') throw error
      onError(error)
      sum.add({ exitCode: exitCodeOf(error), usage: noUsage, costUsd: 0 })
      return endOf({ error, exitCode: exitCodeOf(error) }, log)
    } finally {
      reading = undefined
      say({ kind: 'reused', ...(await reuse.end()) })
    }
  }

  try {
    const own: WatchParts['ownAmong'] = (paths) => findOwnChanges(paths, since, around)
    const read: Reading = {
      count: () => reading?.count(),
      plan: () => reading?.plan({ keep: true }) ?? { files: new Map(), lists: new Map() },
    }
    const parts = { run, reading: read, open: openWatcher, ownAmong: own, clock: systemClock, say }
    const end = await watch(parts, { signal, start })
    if (end.kind !== 'refused') say({ kind: 'ended', total: sum.total() })
    return end
  } finally {
    session.close()
  }
}

type Counted = Pick<RunReport, 'exitCode' | 'usage' | 'costUsd'>

function createSum() {
  const begun = systemClock.monotonic()
  let runs = 0
  let failed = 0
  let usage = noUsage
  let costUsd = 0
  let isUnpriced = false
  return {
    /** The number of the run that begins. */
    begin: () => (runs += 1),
    add(report: Counted): void {
      if (report.exitCode !== 0) failed += 1
      usage = addUsage(usage, report.usage)
      costUsd += report.costUsd ?? 0
      isUnpriced ||= report.costUsd === null
    },
    total: (): SessionTotal => ({
      runs,
      failed,
      usage,
      costUsd: isUnpriced && costUsd === 0 ? null : costUsd,
      ms: systemClock.monotonic() - begun,
    }),
  }
}

/** An error in the command line itself cannot be fixed by saving a file. */
function endOf({ error, exitCode }: Pick<RunReport, 'error' | 'exitCode'>, log: SourceLog): WatchedEnd {
  if (isBatonError(error) && error.code === 'USAGE' && error.place === undefined) return { kind: 'refused', exitCode }
  return { kind: 'watch', plan: log.plan({ keep: exitCode !== 0 }) }
}
