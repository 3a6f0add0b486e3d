import type { Clock } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'
import { StopSignal } from '../base/error.ts'
import { adopt, withCurrentState, comparePlan, type PlanComparison, targetsOf, type WatchPlan } from './plan.ts'
import { blankMs } from './prints.ts'
import type { Watcher, WatcherOptions } from './watcher.ts'

/** How a watched run ended: with a plan of what to watch, or refused in a way that a rerun cannot change. */
export type WatchedEnd =
  | { readonly kind: 'watch'; readonly plan: WatchPlan }
  | { readonly kind: 'refused'; readonly exitCode: number }

/** A message for the user. Paths are absolute. */
export type WatchMessage =
  /** A run starts, counted from 1. `at`: milliseconds since 1970. */
  | { readonly kind: 'started'; readonly run: number; readonly at: number }
  /** These files were saved during the run: one more run follows it. */
  | { readonly kind: 'saved'; readonly paths: readonly string[] }
  /** These files were saved during the run, and are now as the run has read or changed them: none follows it. */
  | { readonly kind: 'unchanged'; readonly paths: readonly string[] }
  /** The session is over, after at least one run. */
  | { readonly kind: 'ended'; readonly total: SessionTotal }
  /** A run starts because of these files. */
  | { readonly kind: 'changed'; readonly paths: readonly string[] }
  /** How many parts of the finished run were reused from earlier runs, and how many were rerun. */
  | { readonly kind: 'reused'; readonly reused: number; readonly rerun: number }
  /** Number of files that are now watched. */
  | { readonly kind: 'waiting'; readonly files: number }
  /** Too many consecutive runs were started by changes to these files that were made during runs. */
  | { readonly kind: 'paused'; readonly paths: readonly string[] }
  /** These files differ, but Baton itself has changed them: no run starts. */
  | { readonly kind: 'own'; readonly paths: readonly string[] }
  /** Some changes may go unnoticed. */
  | { readonly kind: 'blind'; readonly error: unknown }

/** The runs of a session together. */
export interface SessionTotal {
  readonly runs: number
  readonly failed: number
  /** Tokens. */
  readonly usage: { readonly input: number; readonly output: number; readonly estimated?: true }
  /** In US dollars, of the calls with a known price; null if no price is known. */
  readonly costUsd: number | null
  /** Milliseconds since the session began. */
  readonly ms: number
}

/** Why a run starts: it is the first one, something changed, or the user requested it. */
export type RunCause = 'first' | 'changed' | 'requested'

export interface WatchParts {
  /** Performs one run. `before`: what the last run read, in its present state. An aborted signal ends the run soon. */
  readonly run: (before: WatchPlan | undefined, signal: AbortSignal, cause: RunCause) => Promise<WatchedEnd>
  /** What the run in progress has read so far. Omitted: saves are noticed only when it has ended. */
  readonly reading?: Reading
  readonly open: (options: WatcherOptions) => Watcher
  /** Which of these paths Baton itself has changed otherwise since the last run was started. */
  readonly ownAmong: (paths: readonly string[]) => OwnAmong
  readonly say: (message: WatchMessage) => void
  readonly clock: Clock
}

export interface Reading {
  /** Number of files; undefined while the run itself may be changing some, or if none is in progress. */
  readonly count: () => number | undefined
  readonly plan: () => WatchPlan
}

interface OwnAmong {
  readonly own: ReadonlySet<string>
  /** Baton is changing files right now: ask again later. */
  readonly isPending: boolean
}

export interface WatchControls {
  /** `r` and Enter start a rerun while no run is in progress, `q` quits; other keys are ignored. */
  readonly key: (key: string) => void
  /** Ctrl-C: stops the run in progress. Returns false if there is none, or if it is already being stopped. */
  readonly interrupt: () => boolean
}

export type WatchEnd = { readonly kind: 'quit' | 'aborted' } | { readonly kind: 'refused'; readonly exitCode: number }

/** Editors save in several steps: a run starts only after two looks this far apart found the same state. */
const settleMs = 60

/** If files do not settle within this time, a run starts anyway; later changes start another run. */
const longestSettleMs = 3_000

/** Pause between looks, for folders with many irrelevant changes. */
const idleMs = 100

/** Pause between looks for saves during a run. */
const duringMs = 250

/** Limit on consecutive runs started by changes that were made during runs. */
const mostInRow = 3

/**
 * Runs, and reruns whenever something differs from what the last run read. `start` receives the controls. A failed run
 * does not reject the promise.
 */
export async function watch(
  parts: WatchParts,
  { start, signal }: { readonly start: (controls: WatchControls) => void; readonly signal: AbortSignal },
): Promise<WatchEnd> {
  const quit = new AbortController()
  const ending = manyListeners(AbortSignal.any([signal, quit.signal]))
  const inbox = createInbox(ending)
  let current: AbortController | undefined
  start({
    key(key) {
      if (key === 'q') quit.abort(new StopSignal('q', 130))
      else if (current === undefined && ['r', '\r', '\n'].includes(key)) inbox.put('requested')
    },
    interrupt() {
      if (current === undefined || current.signal.aborted) return false
      current.abort(new StopSignal('SIGINT', 130))
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
      current = new AbortController()
      const before = plan === undefined ? undefined : withCurrentState(plan)
      const { end, saved } = await reportingSaves(session, () =>
        parts.run(before, AbortSignal.any([ending, current?.signal ?? ending]), runCause),
      )
      if (end.kind === 'refused') return end
      ending.throwIfAborted()
      const wasStopped = current.signal.aborted
      current = undefined
      const after = { plan: wasStopped ? withCurrentState(end.plan) : end.plan, saved: wasStopped ? [] : saved }
      const cause = await nextCause(after, inRow, session)
      plan = cause.plan
      runCause = cause.run
      inRow = cause.kind === 'during a run' ? inRow + 1 : 0
      ending.throwIfAborted()
    }
  } catch (error) {
    if (!ending.aborted) throw error
    return { kind: signal.aborted ? 'aborted' : 'quit' }
  } finally {
    await watcher.close()
  }
}

/** Does a run, and reports once if something that it has read was saved meanwhile: these files. */
async function reportingSaves<T>(
  session: Session,
  run: () => Promise<T>,
): Promise<{ readonly end: T; readonly saved: readonly string[] }> {
  const over = new AbortController()
  const reporting = reportSaves(session, over.signal)
  try {
    const end = await run()
    over.abort()
    return { end, saved: await reporting }
  } finally {
    over.abort()
    await reporting
  }
}

async function reportSaves(
  { reading, inbox, watcher, ownAmong, clock, say }: Session,
  over: AbortSignal,
): Promise<readonly string[]> {
  if (reading === undefined) return []
  let followed = 0
  let isDue = false
  let last = ''
  try {
    for (;;) {
      await clock.sleep(duringMs, over)
      const count = reading.count()
      if (count === undefined) continue
      isDue = inbox.take('changed') || isDue
      if (count === followed && !isDue) continue
      const plan = reading.plan()
      const look = comparePlan(plan)
      if (count !== followed) {
        followed = count
        await watcher.follow(targetsOf(plan, look))
      }
      const { own, isPending } = ownAmong(look.changed)
      const saved = look.changed.filter((path) => !own.has(path))
      isDue = saved.length > 0
      // until two looks have found the same, an editor may not be done
      if (isDue && look.unready.length === 0 && !isPending && look.state === last) {
        say({ kind: 'saved', paths: saved })
        return saved
      }
      last = look.state
    }
  } catch (error) {
    if (!over.aborted) throw error
    return []
  }
}

interface Session extends WatchParts {
  readonly inbox: Inbox
  readonly watcher: Watcher
  /** Aborted to end watching. */
  readonly signal: AbortSignal
}

interface Cause {
  readonly kind: 'during a run' | 'while idle'
  readonly run: RunCause
  readonly plan: WatchPlan
}

interface AfterRun {
  readonly plan: WatchPlan
  /** What the user was told of: saved during the run. */
  readonly saved: readonly string[]
}

async function nextCause({ plan, saved }: AfterRun, inRow: number, session: Session): Promise<Cause> {
  const { inbox, say } = session
  inbox.clear()
  const { changed, plan: left } = await settled({ plan, held: new Set() }, session)
  if (changed.length > 0 && inRow < mostInRow) {
    say({ kind: 'changed', paths: changed })
    return { kind: 'during a run', run: 'changed', plan: left }
  }
  const isPaused = changed.length > 0
  if (!isPaused && saved.length > 0) say({ kind: 'unchanged', paths: saved })
  const read = isPaused ? withCurrentState(left) : left
  if (isPaused) say({ kind: 'paused', paths: changed })
  const run = await nextChange({ plan: read, held: new Set(changed) }, session, () => {
    if (!isPaused)
      say({ kind: 'waiting', files: [...read.files.values()].filter(({ print }) => print !== null).length })
  })
  return { kind: 'while idle', run, plan: read }
}

interface Watched {
  readonly plan: WatchPlan
  /** Paths whose changes start no run because something keeps writing to them. */
  readonly held: ReadonlySet<string>
}

/** Waits until something differs or a run is requested. */
async function nextChange({ held, ...watched }: Watched, session: Session, onWaiting: () => void): Promise<RunCause> {
  const { inbox, watcher, say, clock, signal } = session
  let { plan } = watched
  for (let isFirst = true; ; isFirst = false) {
    let look = await settled({ plan, held }, session)
    if (look.changed.length === 0) {
      await watcher.follow(targetsOf(look.plan, look))
      // changes before the watcher was ready went unnoticed
      look = await settled({ plan: look.plan, held }, session)
    }
    plan = look.plan
    if (look.changed.length > 0) {
      say({ kind: 'changed', paths: look.changed })
      return 'changed'
    }
    if (isFirst) onWaiting()
    else await clock.sleep(idleMs, signal)
    if ((await inbox.next()) === 'requested') {
      await settled({ plan, held }, session)
      return 'requested'
    }
  }
}

interface Settled extends PlanComparison {
  /** The plan, with the present state of the files that Baton itself has changed. */
  readonly plan: WatchPlan
}

/** Looks until two consecutive looks find the same state. If nothing differs, one look is enough. */
async function settled({ held, ...watched }: Watched, { clock, signal, ownAmong, say }: Session): Promise<Settled> {
  let { plan } = watched
  let look = comparePlan(plan, held)
  let since = 0
  for (let waited = 0; look.changed.length > 0; waited += settleMs) {
    await clock.sleep(settleMs, signal)
    const next = comparePlan(plan, held)
    const isSame = next.state === look.state
    if (!isSame) since = waited
    look = next
    const isReady = isSame && (next.unready.length === 0 || waited - since >= blankMs)
    if (!isReady && waited < longestSettleMs) continue
    const { own, isPending } = ownAmong(look.changed)
    if (isPending) continue
    if (own.size === 0) break
    const adopted = adopt(plan, (path) => own.has(path))
    // what somebody has saved since then must not be taken over with it
    if (ownAmong([...own]).own.size < own.size) continue
    plan = adopted
    say({ kind: 'own', paths: look.changed.filter((path) => own.has(path)) })
    look = comparePlan(plan, held)
    if (look.changed.some((path) => own.has(path))) break
  }
  return { ...look, plan }
}

/** Queues events until they are consumed; equal events are merged. */
interface Inbox {
  readonly put: (event: InboxEvent) => void
  readonly clear: () => void
  /** Whether this event is queued; removes it. */
  readonly take: (event: InboxEvent) => boolean
  /** The next event; `requested` takes precedence. Rejects with the reason of the signal. */
  readonly next: () => Promise<InboxEvent>
}

type InboxEvent = Exclude<RunCause, 'first'>

function createInbox(signal: AbortSignal): Inbox {
  const events = new Set<InboxEvent>()
  let wake: () => void = () => {}
  signal.addEventListener('abort', () => wake(), { once: true })

  return {
    put(event) {
      events.add(event)
      wake()
    },
    clear: () => events.clear(),
    take: (event) => events.delete(event),
    async next() {
      for (;;) {
        signal.throwIfAborted()
        for (const event of ['requested', 'changed'] as const) if (events.delete(event)) return event
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}
