import type { Clock } from '../base/clock.ts'
import { manyListeners } from '../base/limit.ts'
import { StopSignal } from '../base/stop.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { asNow, lookAt, type Look, type WatchPlan } from './plan.ts'
import { targetsOf } from './targets.ts'
import type { Watcher, WatcherOptions } from './watcher.ts'

/** How a watched run ended: with what to watch, or so that running again makes no sense. */
export type WatchedEnd =
  | { readonly kind: 'watch'; readonly plan: WatchPlan }
  | { readonly kind: 'refused'; readonly exitCode: number }

/** Something that a person should know. Paths are absolute. */
export type WatchMessage =
  /** A run starts because of these files. */
  | { readonly kind: 'changed'; readonly paths: readonly string[] }
  /** So many parts of the run that is over were read back from earlier ones, or done again. */
  | { readonly kind: 'reused'; readonly readBack: number; readonly again: number }
  /** So many files are watched now. */
  | { readonly kind: 'waiting'; readonly files: number }
  /** Runs in a row were started by changes to these files that were made while a run was going. */
  | { readonly kind: 'paused'; readonly paths: readonly string[] }
  /** Not every change can be seen. */
  | { readonly kind: 'blind'; readonly error: unknown }

export type RunCause = 'first' | 'changed' | 'again'

export interface WatchParts {
  /**
   * One run. `before` is what the last one has read, as it is now; when it is aborted it ends soon. `cause`: the first
   * run, one because something changed, or one that a person wants whatever changed.
   */
  readonly run: (before: WatchPlan | undefined, signal: AbortSignal, cause: RunCause) => Promise<WatchedEnd>
  readonly open: (options: WatcherOptions) => Watcher
  readonly say: (message: WatchMessage) => void
  readonly clock: Clock
}

export interface WatchControls {
  /** `r` and Enter run again while no run is going, `q` ends; others do nothing. */
  readonly key: (key: string) => void
  /** Ctrl-C: stops the run that is going. False when none is, or when it is being stopped already. */
  readonly interrupt: () => boolean
}

/** Why watching ended. */
export type WatchEnd = { readonly kind: 'quit' | 'aborted' } | { readonly kind: 'refused'; readonly exitCode: number }

/** Editors save in several steps: two looks so far apart must see the same before a run starts. */
const quietMs = 60

/** A file that is gone is waited for so long: it may be about to be put in place again. */
const goneMs = 400

/** Something that never holds still is run as it is after so long; what comes later starts another run. */
const restlessMs = 3_000

/** In a folder where much happens that does not matter, looks are so far apart. */
const restMs = 100

/** So many runs in a row may be started by changes that were made while a run was going. */
const mostInRow = 3

/**
 * Runs, and runs again whenever something differs from what the last run has read (DESIGN 13 "Watch"). `start` is told
 * how to control it. Never rejects because a run fails.
 */
export async function watch(
  parts: WatchParts,
  { start, signal }: { readonly start: (controls: WatchControls) => void; readonly signal: AbortSignal },
): Promise<WatchEnd> {
  const inbox = createInbox()
  const quit = new AbortController()
  const ending = manyListeners(AbortSignal.any([signal, quit.signal]))
  let going: AbortController | undefined
  start({
    key(key) {
      if (key === 'q') quit.abort(new StopSignal('q', 130))
      else if (going === undefined && ['r', '\r', '\n'].includes(key)) inbox.put('again')
    },
    interrupt() {
      if (going === undefined || going.signal.aborted) return false
      going.abort(new StopSignal('SIGINT', 130))
      return true
    },
  })
  const watcher = parts.open({
    onChange: () => inbox.put('changed'),
    onProblem: (error) => parts.say({ kind: 'blind', error }),
  })
  const session: Session = { ...parts, inbox, watcher, signal: ending }
  try {
    let plan: WatchPlan | undefined
    let runCause: RunCause = 'first'
    for (let inRow = 0; ;) {
      going = new AbortController()
      const before = plan === undefined ? undefined : asNow(plan)
      const end = await parts.run(before, AbortSignal.any([ending, going.signal]), runCause)
      if (end.kind === 'refused') return end
      ending.throwIfAborted()
      const wasStopped = going.signal.aborted
      going = undefined
      const cause = await nextCause(wasStopped ? asNow(end.plan) : end.plan, inRow, session)
      plan = cause.plan
      runCause = cause.run
      inRow = cause.kind === 'while going' ? inRow + 1 : 0
      ending.throwIfAborted()
    }
  } catch (error) {
    if (!ending.aborted) throw error
    return { kind: signal.aborted ? 'aborted' : 'quit' }
  } finally {
    await watcher.close()
  }
}

interface Session extends WatchParts {
  readonly inbox: Inbox
  readonly watcher: Watcher
  /** Aborted when watching is to end. */
  readonly signal: AbortSignal
}

interface Cause {
  readonly kind: 'while going' | 'while idle'
  readonly run: RunCause
  readonly plan: WatchPlan
}

/** Waits for the reason of the next run. */
async function nextCause(plan: WatchPlan, inRow: number, session: Session): Promise<Cause> {
  const { inbox, say } = session
  inbox.clear()
  const { changed } = await settled({ plan, held: new Set() }, session)
  if (changed.length > 0 && inRow < mostInRow) {
    say({ kind: 'changed', paths: changed })
    return { kind: 'while going', run: 'changed', plan }
  }
  const isPaused = changed.length > 0
  const read = isPaused ? asNow(plan) : plan
  if (isPaused) say({ kind: 'paused', paths: changed })
  const next = await nextChange({ plan: read, held: new Set(changed) }, session, () => {
    if (!isPaused)
      say({ kind: 'waiting', files: [...read.files.values()].filter(({ print }) => print !== null).length })
  })
  return { kind: 'while idle', ...next }
}

interface Watched {
  readonly plan: WatchPlan
  /** Paths whose changes start no run: something keeps writing them. */
  readonly held: ReadonlySet<string>
}

/** Waits until something differs or somebody wants a run. */
async function nextChange(
  watched: Watched,
  session: Session,
  onWaiting: () => void,
): Promise<Pick<Cause, 'run' | 'plan'>> {
  const { plan } = watched
  const { inbox, watcher, say, clock, signal } = session
  for (let isFirst = true; ; isFirst = false) {
    let look = await settled(watched, session)
    if (look.changed.length === 0) {
      await watcher.follow(targetsOf(plan, look))
      // what happened before it was watched has told nobody
      look = await settled(watched, session)
    }
    if (look.changed.length > 0) {
      say({ kind: 'changed', paths: look.changed })
      return { run: 'changed', plan }
    }
    if (isFirst) onWaiting()
    else await clock.sleep(restMs, signal)
    if ((await inbox.next(signal)) === 'again') return { run: 'again', plan }
  }
}

/** Looks until two looks see the same. When nothing differs the first one is enough. */
async function settled({ plan, held }: Watched, { clock, signal }: Session): Promise<Look> {
  let look = lookAt(plan, held)
  for (let waited = 0; look.changed.length > 0 && waited < restlessMs; waited += quietMs) {
    await clock.sleep(quietMs, signal)
    const again = lookAt(plan, held)
    const isThere = again.gone.length === 0 || waited >= goneMs
    if (again.state === look.state && isThere) return again
    look = again
  }
  return look
}
