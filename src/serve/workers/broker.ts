import { mostModelRequests } from '../../event/limits.ts'
import type { FromWorker, Resting, ToWorker } from './messages.ts'

/** What the runs of a server share for calls of models: slots for requests, and which models failed recently. */
export interface Broker {
  /** Serves one worker until it leaves, which frees what it holds. */
  readonly join: (send: (message: ToWorker) => void) => Member
  /** The models in cooldown, with the time that is left. */
  readonly resting: () => readonly Resting[]
}

interface Member {
  /** Returns false for a message that is none of its business. */
  readonly take: (message: FromWorker) => boolean
  readonly leave: () => void
}

interface Waiting {
  readonly holder: Set<number>
  readonly ticket: number
  readonly send: (message: ToWorker) => void
}

export function createBroker(slots: number = mostModelRequests): Broker {
  const members = new Set<(message: ToWorker) => void>()
  const restingUntil = new Map<string, number>()
  let free = slots
  /** First come, first served, over all workers. */
  let waiting: Waiting[] = []

  function grant(): void {
    while (free > 0) {
      const next = waiting.shift()
      if (next === undefined) return
      free -= 1
      next.holder.add(next.ticket)
      next.send({ kind: 'granted', ticket: next.ticket })
    }
  }

  return {
    resting: () => {
      const now = performance.now()
      const all = [...restingUntil].map(([model, until]) => ({ model, ms: Math.round(until - now) }))
      return all.filter(({ ms }) => ms > 0)
    },
    join(send) {
      const held = new Set<number>()
      members.add(send)
      return {
        take(message) {
          if (message.kind === 'wanted') waiting.push({ holder: held, ticket: message.ticket, send })
          else if (message.kind === 'returned') {
            const { ticket } = message
            if (held.delete(ticket)) free += 1
            else waiting = waiting.filter((one) => one.holder !== held || one.ticket !== ticket)
          } else if (message.kind === 'failing') {
            const { model, ms } = message
            restingUntil.set(model, performance.now() + ms)
            for (const other of members) if (other !== send) other({ kind: 'resting', model, ms })
          } else return false
          grant()
          return true
        },
        leave() {
          members.delete(send)
          waiting = waiting.filter(({ holder }) => holder !== held)
          free += held.size
          held.clear()
          grant()
        },
      }
    },
  }
}
