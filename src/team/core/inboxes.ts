import { unlessAborted } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'
import type { ContextWith, Gate } from '../../event/context.ts'
import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { callPlace, part } from '../../event/place.ts'

/** Combines several inboxes into one; messages of the first inbox come first. */
export function joinInboxes(inboxes: readonly Inbox[]): Inbox {
  return {
    // all inboxes are checked: each may throw an error that ends the run
    isOpen: () => inboxes.map((inbox) => inbox.isOpen()).includes(true),
    waiting: () => inboxes.flatMap((inbox) => inbox.waiting()),
    know: (ids) => inboxes.forEach((inbox) => inbox.know(ids)),
    next: (signal) => firstOf(inboxes, signal),
  }
}

/** True if one of them has a message, false if none will get one; a suspension only if nothing else can continue. */
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
    enough.abort(new DOMException('another inbox had a message', 'AbortError'))
  }
}

/**
 * An inbox for a conversation that gets messages at any time. If its model has nothing more to do, its decision to
 * continue is recorded at `<place of the context>/inbox`, with the messages that it continues for. So a resumed run
 * continues for the same ones, even if they are sent again only later.
 */
export function recordedInbox(inbox: Inbox, { scope, services: { effects } }: ContextWith<'at', Gate>): Inbox {
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
