import { placeText, type Place } from './effects.ts'
import type { EventBody, RunEvent } from './event.ts'

export interface BusOptions {
  readonly runId: string
  readonly now: () => Date
}

export type Listener = (event: RunEvent) => void

export interface Bus {
  readonly send: (at: Place, event: EventBody) => void
  /** Whether anything was sent yet. */
  hasSent(): boolean
  /** Events reach listeners in order, synchronously. Returns the function that ends the subscription. */
  subscribe(listener: Listener): () => void
}

/** Ordered fan-out of the events of one run. A listener that throws is dropped: it cannot stop the run. */
export function createBus({ runId, now }: BusOptions): Bus {
  const listeners = new Set<Listener>()
  let seq = 0

  return {
    send(at, body) {
      const event: RunEvent = { ...body, seq, ts: now().toISOString(), run_id: runId, agent: placeText(at) }
      seq += 1
      for (const listener of listeners) {
        try {
          listener(event)
        } catch {
          listeners.delete(listener)
        }
      }
    },
    hasSent: () => seq > 0,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
