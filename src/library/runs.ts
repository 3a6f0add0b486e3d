import { claimMessage } from '../chat/claim-message.ts'
import { createBroadcast, manyListeners } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import type { Listener } from '../event/bus.ts'
import type { RunEvent } from '../event/event.ts'
import { findRun } from '../journal/find-run.ts'
import { unfinishedRun } from '../journal/index-file.ts'
import { runsFolder } from '../journal/run-id.ts'
import { type StartOptions, startRun } from '../runner.ts'
import type { RunCause, WatchControls, WatchMessage } from '../watch/session.ts'
import type { RunReport } from '../wiring/conduct.ts'
import {
  answersOf,
  overridesFor,
  type PlaceOptions,
  type ResumeOptions,
  type RunOptions,
  startOptions,
  type WatchOptions,
} from './options.ts'

/**
 * A started run: its events in order, and how it ended. Any number of loops may read the events: loops that start
 * together get all of them, a later one gets those from then on. Reading them is optional.
 */
export interface Run extends AsyncIterable<RunEvent> {
  /**
   * Does not reject if the run fails: the report has the error and the exit code. Rejects with a BatonError if a run
   * cannot be resumed; loops throw it as well.
   */
  readonly result: Promise<RunReport>
  /** Stops it like Ctrl-C: finished work is recorded, and `result` has exit code 130. */
  readonly abort: () => void
}

/** One run of a watch session. */
export interface WatchedRun {
  readonly cause: RunCause
  /** Absolute paths of the files whose changes started it. */
  readonly changed: readonly string[]
  readonly run: Run
}

/** Its runs, each when it starts. Leaving the loop ends watching. */
export interface WatchSession extends AsyncIterable<WatchedRun> {
  /** Reruns although nothing has changed; after the current run, if there is one. */
  readonly rerun: () => void
  /** Ends watching; a run in progress is stopped. */
  readonly stop: () => void
}

export type Work = (listener: Listener, signal: AbortSignal) => Promise<RunReport>

/** Starts a run, which `signal` can stop as well. */
export function begin(signal: AbortSignal | undefined, work: Work): Run {
  const own = new AbortController()
  const events = createBroadcast<RunEvent>()
  const unlink = stopWith(own, signal)
  const result = work(events.push, manyListeners(own.signal)).finally(unlink)
  result.then(
    () => events.end(),
    (error: unknown) => events.end(error),
  )
  return {
    result,
    abort: () => own.abort(stopped()),
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
  }
}

/**
 * Aborts a controller when a signal aborts; returns a function that ends this link. `AbortSignal.any` of Node 20 holds
 * its signals weakly, so an `AbortSignal.timeout` without other references would be collected and never fire.
 */
function stopWith(own: AbortController, signal: AbortSignal | undefined): () => void {
  const stop = (): void => own.abort(signal?.reason)
  if (signal?.aborted === true) stop()
  signal?.addEventListener('abort', stop, { once: true })
  return () => signal?.removeEventListener('abort', stop)
}

function stopped(): BatonError {
  return new BatonError('ABORTED', 'the run was stopped', { hint: 'resume() continues it.' })
}

/** What a process gives to a run that it starts for another one. */
type OfProcess = Pick<StartOptions, 'calling' | 'onRecord' | 'prepare'>

export function beginRun(file: string, options: RunOptions & OfProcess, place: Required<PlaceOptions>): Run {
  return begin(options.signal, (listener, signal) =>
    startRun(file, { ...startOptions(options, place), signal }, listener),
  )
}

export function beginResume(
  run: string,
  options: ResumeOptions & Pick<OfProcess, 'calling'>,
  place: Required<PlaceOptions>,
): Run {
  return begin(options.signal, async (listener, signal) => {
    const { budget, timeout, overrides: given, approve, answer, ...choices } = options
    const overrides = overridesFor({ budget, timeout, overrides: given })
    const { workspace, settings } = await loadTargetConfig({ ...place, flags: { overrides } })
    const runs = runsFolder({ ...place, workspace, runsDir: settings.runs.dir })
    const folder = run === 'last' ? await unfinishedRun(runs) : findRun(runs, run)
    const { resumeRun } = await import('../wiring/resume.ts')
    const { release } = await claimMessage(folder, place.cwd)
    try {
      const answers = answersOf({ approve, answer })
      return await resumeRun({ ...place, ...choices, ...answers, overrides, folder, signal }, listener)
    } finally {
      release()
    }
  })
}

export function beginWatch(file: string, options: WatchOptions, place: Required<PlaceOptions>): WatchSession {
  const { onMessage, signal: given, ...runOptions } = options
  const own = new AbortController()
  const runs = createBroadcast<WatchedRun>()
  let controls: WatchControls | undefined
  let changed: readonly string[] = []
  let isIdle = false
  let wantsRerun = false

  function rerun(): void {
    wantsRerun = !isIdle
    if (isIdle) controls?.key('r')
  }

  async function session(): Promise<void> {
    const { watchRuns } = await import('../wiring/watch-runs.ts')
    await watchRuns({
      around: place,
      signal: own.signal,
      async runEach(watched, { signal, cause }) {
        isIdle = false
        const started = startOptions(runOptions, place)
        const run = begin(signal, (listener, either) =>
          startRun(file, { ...started, ...watched, signal: either }, listener),
        )
        runs.push({ cause, changed: cause === 'changed' ? changed : [], run })
        return run.result
      },
      onError: (error) => {
        throw error
      },
      say(message: WatchMessage) {
        if (message.kind === 'changed') changed = message.paths
        isIdle ||= message.kind === 'waiting' || message.kind === 'paused'
        if (isIdle && wantsRerun) rerun()
        onMessage?.(message)
      },
      start: (given) => void (controls = given),
    })
  }

  const unlink = stopWith(own, given)
  session()
    .finally(unlink)
    .then(
      () => runs.end(),
      (error: unknown) => runs.end(error),
    )
  const stop = (): void => own.abort(stopped())
  return {
    rerun,
    stop,
    async *[Symbol.asyncIterator]() {
      try {
        yield* runs
      } finally {
        stop()
      }
    },
  }
}
