/** A message for a conversation from outside of it. Its id is the same in a resumed run. */
export type InboxMessage = { readonly id: string; readonly text: string }

/**
 * Messages that come to a conversation while it goes on. They are delivered before a request, as one recorded observation: what was
 * delivered is not delivered again by a resumed run, and what was not is. See docs/design/sub-agents-by-tool.md.
 */
export interface Inbox {
  /**
   * Whether messages may come, so that the conversation looks before each request: at the same turn the same in a resumed run.
   * @throws what ends the run, when work that sends messages has failed so
   */
  readonly isOpen: () => boolean
  /** Those that wait, oldest first. They stay until they are known. */
  readonly waiting: () => readonly InboxMessage[]
  /** The conversation knows these, also those that come only later: they are not delivered any more. */
  readonly know: (ids: readonly string[]) => void
  /**
   * Waits until a message waits; false: none will come any more. @throws a suspension when all that could send one waits for a person,
   * what ends the run, and the reason of the signal
   */
  readonly next: (signal: AbortSignal) => Promise<boolean>
}
