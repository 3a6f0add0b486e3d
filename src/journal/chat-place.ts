import { isObject } from '../base/json.ts'

/** Which message of a chat a run is. Plain JSON. */
export type ChatPlace = {
  /** Of the chat. */
  readonly id: string
  /** The run of the message before it; left out: it is the first. */
  readonly after?: string
  /** It sums up what was said before it, which later messages get in place of that. */
  readonly isSummary?: true
  /** It is worked on while the chat goes on, whose messages do not know of it. */
  readonly isBackground?: true
  /** So many of the last settings of `-c` hold for this message alone. */
  readonly ownOverrides?: number
  /** The model of the other messages, where this one has a model of its own; empty: that of the settings. */
  readonly modelOfOthers?: string
}

/** What the facts of a `run.start` record say; undefined: the run is no message of a chat. */
export function chatPlaceOf(facts: unknown): ChatPlace | undefined {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  const chat = isObject(invocation) ? invocation['chat'] : undefined
  if (!isObject(chat) || typeof chat['id'] !== 'string') return undefined
  const { id, after, isSummary, isBackground, ownOverrides, modelOfOthers } = chat
  return {
    id,
    ...(typeof after === 'string' ? { after } : {}),
    ...(isSummary === true ? { isSummary } : {}),
    ...(isBackground === true ? { isBackground } : {}),
    ...(typeof ownOverrides === 'number' ? { ownOverrides } : {}),
    ...(typeof modelOfOthers === 'string' ? { modelOfOthers } : {}),
  }
}
