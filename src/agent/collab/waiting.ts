import type { Clock } from '../../base/clock.ts'
import { manyListeners, unlessAborted } from '../../base/concurrency.ts'
import type { AgentStatus, WaitEnd, WaitTerms } from '../../event/collab.ts'
import type { Mailbox } from './mailbox.ts'
import type { Member } from './member.ts'
import { canEndAtOnce, heldBy, type Stall, stallOf, type TeamView } from './supervisor.ts'
import type { OpenWait, WaitOutcome, Waits } from './waits.ts'

/** How the leader and the members of a team wait for others. */
export interface Waiting {
  /** The tool `wait`. */
  readonly wait: (waiter: string, ids: readonly string[], terms: WaitTerms, signal: AbortSignal) => Promise<WaitEnd>
  /** Waits until the mailbox is not empty; false if none of the waiter's agents is working. */
  readonly next: (waiter: string, signal: AbortSignal) => Promise<boolean>
  /** Fails a wait that only an answer of the user can end. */
  readonly hold: (wait: OpenWait) => void
}

export interface WaitingOptions {
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
    const member = memberOf(heldBy(wait, view) ?? '')?.suspension()
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
