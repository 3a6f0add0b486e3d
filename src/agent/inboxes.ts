import { unlessAborted } from '../base/concurrency.ts'
import { isSuspension } from '../base/error.ts'
import type { RunContext } from '../event/context.ts'
import type { Inbox, InboxMessage } from '../event/inbox.ts'
import { callPlace, part } from '../event/place.ts'

/** Several inboxes as one: messages of all, those of the first one first. */
export function joinInboxes(inboxes: readonly Inbox[]): Inbox {
  return {
    // all are asked: each may throw what ends the run
    isOpen: () => inboxes.map((inbox) => inbox.isOpen()).includes(true),
    waiting: () => inboxes.flatMap((inbox) => inbox.waiting()),
    know: (ids) => inboxes.forEach((inbox) => inbox.know(ids)),
    next: (signal) => firstOf(inboxes, signal),
  }
}

/** True when one of them has a message, false when none will come in any; a suspension only when nothing else goes on. */
async function firstOf(inboxes: readonly Inbox[], signal: AbortSignal): Promise<boolean> {
  const enough = new AbortController()
  const until = AbortSignal.any([signal, enough.signal])
  let held: { readonly error: unknown } | undefined

  const found = new Promise<boolean>((resolve, reject) => {
    const waits = inboxes.map((inbox) =>
      inbox.next(until).then(
        (has) => void (has && resolve(true)),
        (error: unknown) => {
          if (isSuspension(error)) held ??= { error }
          else reject(error as Error)
        },
      ),
    )
    void Promise.all(waits).then(() => (held === undefined ? resolve(false) : reject(held.error as Error)))
  })

  try {
    return await unlessAborted(found, signal)
  } finally {
    enough.abort(new DOMException('somebody else had a message', 'AbortError'))
  }
}

/**
 * The same inbox for a conversation whose mail comes at any time: whether it goes on when its model has no more to do is recorded, at
 * `<place of the context>/inbox`, with the messages that it goes on for. So a resumed run goes on for the same ones, whoever has sent
 * them may send them again later.
 */
export function recordedInbox(inbox: Inbox, { scope, services: { effects } }: RunContext): Inbox {
  const promised = new Map<string, InboxMessage>()
  let asked = 0

  function waiting(): readonly InboxMessage[] {
    return [...promised.values(), ...inbox.waiting().filter(({ id }) => !promised.has(id))]
  }

  return {
    isOpen: () => inbox.isOpen(),
    waiting,
    know(ids) {
      for (const id of ids) promised.delete(id)
      inbox.know(ids)
    },
    async next(signal) {
      const at = callPlace([...scope.at, part('inbox')], asked)
      asked += 1
      const told = await effects.observeAsync(at, { name: 'inbox.next', args: null }, async () =>
        promised.size > 0 || (await inbox.next(signal)) ? [...waiting()] : [],
      )
      for (const message of told) promised.set(message.id, message)
      return told.length > 0
    },
  }
}
