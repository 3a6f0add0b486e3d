import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { collabNote } from './attachments.ts'
import { unreadOf } from './state.ts'
import type { TeamStore } from './store.ts'

export interface SeatInboxOptions {
  readonly handle: string
  readonly store: TeamStore
  /** The first message of the conversation. */
  readonly note: string
  /** Whether it is told of unread messages (R140). */
  readonly notifies: boolean
  /** Called when a request starts. */
  readonly onTurn: () => void
  /** Further messages for its model. */
  readonly more?: () => readonly InboxMessage[]
  /** Waits until `more` may have changed; false if there will be nothing more. */
  readonly next?: (signal: AbortSignal) => Promise<boolean>
}

/** The messages for a member of a team: the note of delegate mode, and a note about unread messages. */
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
