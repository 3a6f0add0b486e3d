import type { AgentStatus } from '../../event/collab.ts'
import { isFinal } from './status.ts'
import type { WaitFor } from './supervisor.ts'

/** How a wait ended. */
export type WaitOutcome =
  /** The statuses at that moment, by id. */
  | { readonly kind: 'ended' | 'time'; readonly status: ReadonlyMap<string, AgentStatus> }
  | { readonly kind: 'stalled'; readonly message: string }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface OpenWait extends WaitFor {
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
