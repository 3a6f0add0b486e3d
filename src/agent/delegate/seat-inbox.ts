import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { collabNote } from './attachments.ts'
import { unreadOf } from './state.ts'
import type { TeamStore } from './store.ts'

export interface SeatInboxOptions {
  readonly handle: string
  readonly store: TeamStore
  /** What a conversation begins with. */
  readonly note: string
  /** Whether it is told of messages that it has not read (R140). */
  readonly notifies: boolean
  /** A request begins. */
  readonly onTurn: () => void
  /** What else its model is to be told. */
  readonly more?: () => readonly InboxMessage[]
  /** Waits until `more` may have changed; false: nothing more will come. */
  readonly next?: (signal: AbortSignal) => Promise<boolean>
}

/** What a member of a team is told before a request: the note of delegate mode, and that messages wait for it. */
export function seatInbox({ handle, store, note, notifies, onTurn, more = () => [], next }: SeatInboxOptions): Inbox {
  const known = new Set<string>()

  function unread(): readonly InboxMessage[] {
    if (!notifies) return []
    const messages = unreadOf(store.state(), handle)
    const last = messages.at(-1)
    if (last === undefined) return []
    const own = messages.filter(({ from }) => from === handle).length
    const text = collabNote([
      { handle: 'teammate', unread: messages.length - own },
      { handle: 'self', unread: own },
    ])
    return [{ id: `delegate/unread/${last.id}`, text }]
  }

  function waiting(): readonly InboxMessage[] {
    const all = [{ id: 'delegate/note', text: note }, ...more(), ...unread()]
    return all.filter(({ id }) => !known.has(id))
  }

  return {
    isOpen() {
      onTurn()
      return true
    },
    waiting,
    know(ids) {
      for (const id of ids) known.add(id)
    },
    async next(signal) {
      for (;;) {
        if (waiting().length > 0) return true
        if (next === undefined || !(await next(signal))) return waiting().length > 0
      }
    },
  }
}
