/** A message to a conversation from outside. Its id is the same in a resumed run. */
export type InboxMessage = { readonly id: string; readonly text: string }

/**
 * Messages that a conversation receives while it is in progress. They are delivered before a request, as one recorded
 * observation, so that a resumed run delivers exactly those that were not delivered yet. See
 * docs/design/sub-agents-by-tool.md.
 */
export interface Inbox {
  /**
   * Whether messages may arrive, so that the conversation checks before each request. In a resumed run, the result at a
   * turn is the same.
   * @throws errors that end the run, if work that sends messages failed with one
   */
  readonly isOpen: () => boolean
  /** The waiting messages, oldest first. They remain until `know` is called for them. */
  readonly waiting: () => readonly InboxMessage[]
  /** Marks messages as known to the conversation, including ones not received yet: they are not delivered again. */
  readonly know: (ids: readonly string[]) => void
  /**
   * Waits for a message; false: no more messages will arrive.
   * @throws a suspension when everything that could send one waits for approval, errors that end the run, and the
   * reason of the signal
   */
  readonly next: (signal: AbortSignal) => Promise<boolean>
}
