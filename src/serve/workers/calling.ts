import { systemClock } from '../../base/clock.ts'
import { manyListeners, type Pool } from '../../base/concurrency.ts'
import { type CoolDown, coolDownMs, createCoolDown } from '../../model/cool-down.ts'
import type { Calling } from '../../wiring/conduct.ts'
import type { FromWorker, Resting } from './messages.ts'

/** What a worker shares with the others of its server for calls of models. */
interface SharedCalling extends Calling {
  /** A slot was granted. */
  readonly granted: (ticket: number) => void
  /** A model has failed in another worker. */
  readonly resting: (resting: Resting) => void
}

export function createSharedCalling(send: (message: FromWorker) => void): SharedCalling {
  const waiting = new Map<number, () => void>()
  const coolDown = createCoolDown({ clock: systemClock })
  let tickets = 0

  function turn(ticket: number, signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error)
      manyListeners(signal).addEventListener('abort', abort)
      waiting.set(ticket, () => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
    }).finally(() => waiting.delete(ticket))
  }

  const slots: Pool = {
    async run(work, signal) {
      signal.throwIfAborted()
      tickets += 1
      const ticket = tickets
      send({ kind: 'wanted', ticket })
      try {
        await turn(ticket, signal)
        return await work()
      } finally {
        send({ kind: 'returned', ticket })
      }
    },
  }
  const shared: CoolDown = {
    isResting: (model) => coolDown.isResting(model),
    rest(model, ms = coolDownMs) {
      coolDown.rest(model, ms)
      send({ kind: 'failing', model, ms })
    },
  }
  return {
    slots,
    coolDown: shared,
    granted: (ticket) => waiting.get(ticket)?.(),
    resting: ({ model, ms }) => coolDown.rest(model, ms),
  }
}
