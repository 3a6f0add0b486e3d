import { modelText } from '../../base/model-text.ts'
import { type Clock, durationText } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import { canonicalText } from '../../agent/message-log.ts'
import type { StallKind, Team, TeamMember } from '../../event/collab.ts'
import { type RunContext, withServices } from '../../event/context.ts'
import { originOf, type Place } from '../../event/place.ts'

/** A stall of a team: the agents involved, and a sentence that names them. */
export interface Stall {
  readonly kind: StallKind
  readonly agents: readonly string[]
  readonly message: string
}

/** One wait of a member, for all or any of the others. */
export interface WaitFor {
  readonly ids: readonly string[]
  readonly returnWhen: 'all' | 'any'
}

/** A snapshot of a team. */
export interface TeamView {
  /**
   * `ended`: waits for it are over. `person`: it waits for the user. `leader`: it ends after all others. `open`: it
   * works unless it waits.
   */
  readonly stateOf: (id: string) => 'ended' | 'open' | 'person' | 'leader'
  /** A member continues when all of its waits have ended. */
  readonly waitsOf: (id: string) => readonly WaitFor[]
  readonly nameOf: (id: string) => string
}

/**
 * The stall, if any, that makes the waits of a member never end; its latest wait has just started. Looks only at what is
 * reachable from it.
 */
export function stallOf(waiter: string, view: TeamView): Stall | undefined {
  const able = ableFrom(waiter, view, true)
  if (able.has(waiter)) return undefined
  const path: string[] = []
  let at: string | undefined = waiter
  while (at !== undefined && !path.includes(at)) {
    path.push(at)
    at = blockedIn(view.waitsOf(at), view, able)
  }
  if (at === undefined) {
    const message = `${sentence(path, view)}, which ends only after its agents`
    return { kind: 'endless_wait', agents: path, message: `this wait can never end: ${message}` }
  }
  const cycle = path.slice(path.indexOf(at))
  const inFront = path.slice(0, path.indexOf(at) + 1)
  const round = sentence([...cycle, at], view)
  return inFront.length === 1
    ? { kind: 'cycle', agents: cycle, message: `wait cycle: ${round}` }
    : { kind: 'endless_wait', agents: path, message: `this wait can never end: ${sentence(inFront, view)}; ${round}` }
}

/**
 * A cheap check: whether the agents waited for can end the wait without waiting themselves. If so, the waiter cannot be
 * part of a stall, whatever else it waits for. All other waits need `stallOf`.
 */
export function canEndAtOnce({ ids, returnWhen }: WaitFor, view: TeamView): boolean {
  return canGoOn([{ ids, returnWhen }], (id) => {
    const state = view.stateOf(id)
    return state === 'ended' || (state === 'open' && view.waitsOf(id).length === 0)
  })
}

/** The member whose wait for the user blocks this wait; undefined if anything else it waits for can make progress. */
export function blockingMember(wait: WaitFor, view: TeamView): string | undefined {
  const left = wait.ids.filter((id) => view.stateOf(id) !== 'ended')
  const able = left.some((id) => ableFrom(id, view, false).has(id))
  return able ? undefined : findPerson(left, view)
}

function findPerson(ids: readonly string[], view: TeamView, seen = new Set<string>()): string | undefined {
  for (const id of ids) {
    if (seen.has(id)) continue
    seen.add(id)
    if (view.stateOf(id) === 'person') return id
    const found = findPerson(
      view.waitsOf(id).flatMap((wait) => wait.ids),
      view,
      seen,
    )
    if (found !== undefined) return found
  }
  return undefined
}

/** Those reachable members that can continue or end through what others do. */
function ableFrom(start: string, view: TeamView, personsGoOn: boolean): ReadonlySet<string> {
  const able = new Set<string>()
  const blocked = blockedFrom(start, view)
  const isAble = (id: string): boolean => {
    const state = view.stateOf(id)
    if (state === 'ended') return true
    if (state === 'leader') return false
    if (state === 'person') return personsGoOn
    return able.has(id) || view.waitsOf(id).length === 0
  }
  for (let before = -1; before !== able.size;) {
    before = able.size
    for (const id of blocked) if (!able.has(id) && canGoOn(view.waitsOf(id), isAble)) able.add(id)
  }
  if (blocked.length === 0 && isAble(start)) able.add(start)
  return able
}

/** The reachable members that wait, dependencies first, so that one pass is enough if there is no cycle. */
function blockedFrom(start: string, view: TeamView): readonly string[] {
  const seen = new Set<string>([start])
  const order: string[] = []
  const open: { readonly id: string; readonly next: Iterator<string> }[] = []
  const enter = (id: string): void => {
    const waits = view.waitsOf(id)
    if (waits.length > 0) open.push({ id, next: waits.flatMap(({ ids }) => ids).values() })
  }
  enter(start)
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { value, done } = top.next.next()
    if (done === true) {
      order.push(top.id)
      open.pop()
    } else if (!seen.has(value)) {
      seen.add(value)
      enter(value)
    }
  }
  return order
}

function canGoOn(waits: readonly WaitFor[], isAble: (id: string) => boolean): boolean {
  return waits.every(({ ids, returnWhen }) => (returnWhen === 'all' ? ids.every(isAble) : ids.some(isAble)))
}

/** A member that blocks the waits of a stuck member. */
function blockedIn(waits: readonly WaitFor[], view: TeamView, able: ReadonlySet<string>): string | undefined {
  const isBlocked = (id: string): boolean => {
    const state = view.stateOf(id)
    return state === 'leader' || (state === 'open' && view.waitsOf(id).length > 0 && !able.has(id))
  }
  const stuck = waits.find((wait) => !canGoOn([wait], (id) => !isBlocked(id)))
  return stuck?.ids.find(isBlocked)
}

/** `a waits for b, b waits for c`. */
function sentence(path: readonly string[], { nameOf }: TeamView): string {
  return path
    .slice(1)
    .map((id, index) => `${nameOf(path[index] ?? '')} waits for ${nameOf(id)}`)
    .join(', ')
}

/** How many equal calls of a tool in a row are reported. */
const repeatsReported = 3

function stallOfRepeats(id: string, tool: string, name: string): Stall {
  const message = `${name} has called ${tool} ${repeatsReported} times in a row with the same input and the same result`
  return { kind: 'repeats', agents: [id], message }
}

export interface TeamAtRest {
  readonly members: readonly TeamMember[]
  /** Members that work or are about to. */
  readonly active: ReadonlySet<string>
  /** How long no agent has made progress. */
  readonly restedMs: number
  readonly nameOf: (id: string) => string
}

/** A stall if agents have work to do and none makes progress; undefined if none has work. */
export function stallOfRest({ members, active, restedMs, nameOf }: TeamAtRest): Stall | undefined {
  const busy = members.filter(({ id }) => active.has(id))
  if (busy.length === 0) return undefined
  const each = busy.map(({ id, waitsFor, isQueued }) => {
    if (waitsFor.length > 0) return modelText`${nameOf(id)} waits for ${waitsFor.map(nameOf).join(' and ')}`
    return isQueued ? `${nameOf(id)} waits for a free slot` : `${nameOf(id)} has produced nothing since then`
  })
  const message = `no agent has made progress for ${durationText(restedMs)}: ${each.join(', ')}`
  return { kind: 'no_progress', agents: busy.map(({ id }) => id), message }
}

/** Detects that a member keeps calling a tool with the same input and result. */
interface Repeats {
  /** `call` is equal for calls with equal input and result. */
  readonly called: (id: string, tool: string, call: string) => void
}

interface RepeatsOptions {
  readonly nameOf: (id: string) => string
  /** A call that differs from the last one, or has not been repeated too often yet. */
  readonly onProgress: () => void
  /** Called once for each series of equal calls. */
  readonly onStall: (stall: Stall) => void
}

export function createRepeats({ nameOf, onProgress, onStall }: RepeatsOptions): Repeats {
  const lastCalls = new Map<string, { readonly tool: string; readonly call: string; readonly times: number }>()
  return {
    called(id, tool, call) {
      // polling for the end of an agent is what wait is for
      if (tool === 'wait') return
      const last = lastCalls.get(id)
      const times = last?.call === call && last.tool === tool ? last.times + 1 : 1
      lastCalls.set(id, { tool, call, times })
      if (times < repeatsReported) onProgress()
      else if (times === repeatsReported) onStall(stallOfRepeats(id, tool, nameOf(id)))
    },
  }
}

/** Detects that nothing happens for too long. */
interface RestWatch {
  /** An agent has made progress. */
  readonly progress: () => void
  /** The user is being asked; that time does not count. Returns the function that ends it. */
  readonly asking: () => () => void
  readonly end: () => void
}

interface RestOptions {
  readonly clock: Clock
  /** Infinity: time does not matter. */
  readonly stallAfterMs: number
  /** Nobody has made progress for this long; called once until somebody does. */
  readonly onRest: (restedMs: number) => void
}

export function createRestWatch({ clock, stallAfterMs, onRest }: RestOptions): RestWatch {
  const over = new AbortController()
  const time = clock.startStopwatch()
  let last = 0
  let isWatching = false
  let asked = 0

  async function watch(): Promise<void> {
    isWatching = true
    try {
      for (;;) {
        const restedMs = time.elapsedMs() - last
        if (restedMs >= stallAfterMs && asked === 0) return onRest(restedMs)
        // eslint-disable-next-line no-await-in-loop
        await clock.sleep(asked === 0 ? stallAfterMs - restedMs : stallAfterMs, over.signal)
      }
    } catch (error) {
      if (!over.signal.aborted) throw error
    } finally {
      isWatching = false
    }
  }

  function progress(): void {
    last = time.elapsedMs()
    if (!isWatching && !over.signal.aborted && stallAfterMs !== Infinity) void watch()
  }

  return {
    progress,
    asking() {
      asked += 1
      let isAsking = true
      return () => {
        if (!isAsking) return
        isAsking = false
        asked -= 1
        progress()
      }
    },
    end() {
      over.abort()
      time.end()
    },
  }
}

/**
 * The same context, except that the member's progress, its calls and the time it spends asking the user are reported to
 * the team.
 */
export function watchProgress(
  { team, id }: { readonly team: Pick<Team, 'asking' | 'called' | 'progressed'>; readonly id: string },
  context: RunContext,
): RunContext {
  const { events, asking } = context.services
  const own = originOf(context.scope.at).length
  const inputs = new Map<string, unknown>()

  return withServices(context, {
    events(place, event) {
      events(place, event)
      if (isOfAgent(place, own)) return
      switch (event.type) {
        case 'tool.started':
          inputs.set(event.id, event.input)
          return team.progressed(id)
        case 'tool.completed': {
          const { id: call, name, output } = event
          team.called(
            id,
            name,
            sha256(JSON.stringify([name, canonicalText(JSON.stringify(inputs.get(call) ?? null)), output])),
          )
          return void inputs.delete(call)
        }
        case 'item.delta':
        case 'item.completed':
          return team.progressed(id)
        default:
      }
    },
    async asking(ask) {
      const done = team.asking()
      try {
        return await (asking === undefined ? ask() : asking(ask))
      } finally {
        done()
      }
    },
  })
}

/** The work of agents that the member started does not count as its own. */
function isOfAgent(place: Place, own: number): boolean {
  const below = originOf(place).slice(own)
  return below.some(({ kind }, index) => kind === 'agent' && below[index - 1]?.kind === 'tool')
}
