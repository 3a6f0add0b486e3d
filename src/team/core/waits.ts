import type { AgentStatus, WaitEnd, WaitTerms } from '../../event/collab.ts'
import { isFinal, type Mailbox, type Member } from './member.ts'
import { canEndAtOnce, blockingMember, type Stall, stallOf, type TeamView, type WaitFor } from './stalls.ts'
import type { Clock } from '../../base/clock.ts'
import { manyListeners, unlessAborted } from '../../base/concurrency.ts'

/** How a wait ended. */
type WaitOutcome =
  /** The statuses at that moment, by id. */
  | { readonly kind: 'ended' | 'time'; readonly status: ReadonlyMap<string, AgentStatus> }
  | { readonly kind: 'stalled'; readonly message: string }
  | { readonly kind: 'failed'; readonly error: unknown }

interface OpenWait extends WaitFor {
  readonly waiter: string
  /** False: the model of a member has nothing more to do and waits for messages of its agents. */
  readonly isCall: boolean
  readonly outcome: Promise<WaitOutcome>
  readonly isSettled: () => boolean
  /** Only the first outcome counts. */
  readonly end: (kind: 'ended' | 'time') => void
  readonly stall: (message: string) => void
  readonly fail: (error: unknown) => void
  /** Removes the wait, however it ended. */
  readonly close: () => void
}

/** The open waits of a team. Each watches only its own agents. */
export interface Waits {
  readonly open: (waiter: string, wait: WaitFor, isCall: boolean) => OpenWait
  readonly of: (waiter: string) => readonly OpenWait[]
  /** A letter arrived: ends the member's waits for news. */
  readonly news: (waiter: string) => void
  readonly all: () => readonly OpenWait[]
  /** The status of an agent changed: ends the waits that this decides and returns all waits for the agent. */
  readonly changed: (id: string) => readonly OpenWait[]
}

export function createWaits(statusOf: (id: string) => AgentStatus): Waits {
  const byWaiter = new Map<string, Set<OpenWait>>()
  /** A separate map: a leader may have many calls open when a notice arrives. */
  const forNews = new Map<string, Set<OpenWait>>()
  const byAgent = new Map<string, Set<Watch>>()

  function open(waiter: string, { ids, returnWhen }: WaitFor, isCall: boolean): OpenWait {
    const left = new Set(ids.filter((id) => !isFinal(statusOf(id))))
    let isSettled = false
    let resolveOutcome: (outcome: WaitOutcome) => void = () => {}
    const outcome = new Promise<WaitOutcome>((resolve) => (resolveOutcome = resolve))
    const settle = (how: () => WaitOutcome): void => {
      if (isSettled) return
      isSettled = true
      resolveOutcome(how())
    }
    const decide = (): void => {
      if (returnWhen === 'all' ? left.size === 0 : left.size < ids.length) wait.end('ended')
    }
    const wait: OpenWait = {
      waiter,
      ids,
      returnWhen,
      isCall,
      outcome,
      isSettled: () => isSettled,
      end: (kind) => settle(() => ({ kind, status: new Map(ids.map((id) => [id, statusOf(id)])) })),
      stall: (message) => settle(() => ({ kind: 'stalled', message })),
      fail: (error) => settle(() => ({ kind: 'failed', error })),
      close() {
        remove(byWaiter, waiter, wait)
        remove(forNews, waiter, wait)
        for (const id of ids) remove(byAgent, id, watch)
      },
    }
    const watch: Watch = {
      wait,
      look(id) {
        if (isFinal(statusOf(id))) left.delete(id)
        else left.add(id)
        decide()
      },
    }
    add(byWaiter, waiter, wait)
    if (!isCall) add(forNews, waiter, wait)
    for (const id of ids) add(byAgent, id, watch)
    decide()
    return wait
  }

  return {
    open,
    of: (waiter) => [...(byWaiter.get(waiter) ?? [])],
    news(waiter) {
      for (const wait of forNews.get(waiter) ?? []) wait.end('ended')
    },
    all: () => [...byWaiter.values()].flatMap((waits) => [...waits]),
    changed(id) {
      const watches = [...(byAgent.get(id) ?? [])]
      for (const { look } of watches) look(id)
      return watches.map(({ wait }) => wait)
    },
  }
}

interface Watch {
  readonly wait: OpenWait
  readonly look: (id: string) => void
}

function add<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key)
  if (set === undefined) map.set(key, new Set([value]))
  else set.add(value)
}

function remove<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key)
  set?.delete(value)
  if (set?.size === 0) map.delete(key)
}

/** How the leader and the members of a team wait for others. */
interface Waiting {
  /** The tool `wait`. */
  readonly wait: (waiter: string, ids: readonly string[], terms: WaitTerms, signal: AbortSignal) => Promise<WaitEnd>
  /** Waits until the mailbox is not empty; false if none of the waiter's agents is working. */
  readonly next: (waiter: string, signal: AbortSignal) => Promise<boolean>
  /** Fails a wait that only an answer of the user can end. */
  readonly hold: (wait: OpenWait) => void
}

interface WaitingOptions {
  readonly clock: Clock
  readonly waits: Waits
  readonly view: TeamView
  readonly memberOf: (id: string) => Member | undefined
  readonly agentsOf: (id: string) => ReadonlySet<Member>
  readonly mailboxOf: (id: string) => Mailbox
  /** Members that are replaying their records. */
  readonly behind: ReadonlySet<Member>
  readonly hasSuspended: () => boolean
  readonly refuseBroken: () => void
  /** `by`: the member that learns of the stall anyway, from the result of its wait. */
  readonly report: (stall: Stall, by?: string) => void
}

type Passed = Exclude<WaitOutcome, { readonly kind: 'failed' }>

export function createWaiting(options: WaitingOptions): Waiting {
  const { clock, waits, view, memberOf, agentsOf, mailboxOf, behind, hasSuspended, refuseBroken, report } = options

  /** Checks a wait that has just started. */
  function judge(wait: OpenWait): void {
    if (canEndAtOnce(wait, view)) return
    for (let stall = stallOf(wait.waiter, view); stall !== undefined; stall = stallOf(wait.waiter, view)) {
      // a member that only waits for news gets it anyway, so the member that waits by a call gives way
      const { agents } = stall
      const victim = wait.isCall ? wait : waits.all().findLast((one) => one.isCall && agents.includes(one.waiter))
      report(stall, victim?.waiter)
      victim?.stall(stall.message)
      victim?.close()
      if (victim === undefined || victim === wait) return
    }
    hold(wait)
  }

  /** Fails a wait with the suspension of a member if only the user's answer can end it. */
  function hold(wait: OpenWait): void {
    if (!hasSuspended() || !wait.isCall) return
    const member = memberOf(blockingMember(wait, view) ?? '')?.suspension()
    if (member !== undefined) wait.fail(member.error)
  }

  async function wait(waiter: string, ids: readonly string[], terms: WaitTerms, signal: AbortSignal): Promise<WaitEnd> {
    signal.throwIfAborted()
    const member = memberOf(waiter)
    member?.catchUp()
    while (behind.size > 0) {
      // eslint-disable-next-line no-await-in-loop
      await unlessAborted(Promise.all([...behind].map(({ caughtUp }) => caughtUp)), signal)
    }
    refuseBroken()
    const { ms, returnWhen } = terms
    const open = waits.open(waiter, { ids: [...new Set(ids)], returnWhen }, true)
    const outcome = await passing(open, ms, signal)
    if (outcome.kind === 'stalled') return { stalled: outcome.message }
    const seen = seenBy(waiter, outcome.status)
    mailboxOf(waiter).know(seen)
    return { status: Object.fromEntries(outcome.status), timed_out: outcome.kind === 'time', seen }
  }

  /** Waits for the outcome; the waiter's slot is free meanwhile. Without `ms` there is no timeout. */
  async function passing(open: OpenWait, ms: number | undefined, signal: AbortSignal): Promise<Passed> {
    const member = memberOf(open.waiter)
    member?.pause()
    const timer = new AbortController()
    const onAbort = (): void => open.fail(signal.reason)
    let outcome: WaitOutcome
    try {
      if (!open.isSettled()) judge(open)
      if (!open.isSettled()) {
        manyListeners(signal).addEventListener('abort', onAbort)
        if (ms !== undefined) {
          void clock.sleep(ms, timer.signal).then(
            () => open.end('time'),
            () => undefined,
          )
        }
      }
      outcome = await open.outcome
    } finally {
      open.close()
      timer.abort()
      signal.removeEventListener('abort', onAbort)
    }
    if (outcome.kind === 'failed') {
      member?.fail()
      throw outcome.error
    }
    await member?.resume(signal)
    return outcome
  }

  /** The ids of notices that the result of a wait makes redundant. */
  function seenBy(waiter: string, statuses: ReadonlyMap<string, AgentStatus>): readonly string[] {
    return [...statuses].flatMap(([id, status]) => {
      const member = memberOf(id)
      return member?.order.parent === waiter && typeof status === 'object' ? [member.endId()] : []
    })
  }

  function activeAgentsOf(id: string): readonly string[] {
    return [...agentsOf(id)].flatMap((member) => (member.isActive() ? [member.order.id] : []))
  }

  async function next(id: string, signal: AbortSignal): Promise<boolean> {
    const member = memberOf(id)
    for (;;) {
      signal.throwIfAborted()
      refuseBroken()
      if (!mailboxOf(id).isEmpty() && member?.isStopping() !== true) return true
      const ids = activeAgentsOf(id)
      if (ids.length === 0) break
      member?.catchUp()
      // eslint-disable-next-line no-await-in-loop
      await passing(waits.open(id, { ids, returnWhen: 'any' }, false), undefined, signal)
    }
    const waiting = [...agentsOf(id)].find((agent) => agent.suspension() !== undefined)?.suspension()
    if (waiting !== undefined) throw waiting.error
    return false
  }

  return { wait, next, hold }
}
