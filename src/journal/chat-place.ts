import { join } from 'node:path'
import { isObject } from '../base/json.ts'

/** The file about the session of a chat, beside the runs: it goes with the run of its first message. */
export function sessionFile(runs: string, chat: string): string {
  return join(runs, 'chats', `${chat}.session`)
}

/** Which message of a chat a run is. Plain JSON. */
export type ChatPlace = {
  readonly id: string
  /** The run of the previous message; omitted: it is the first. */
  readonly after?: string
  /** Whether it is a summary of everything before it, which later messages get instead. */
  readonly isSummary?: true
  /** Whether it runs in the background: the chat continues, and its messages do not include it. */
  readonly isBackground?: true
  /** Whether its models get none of the earlier messages. Later ones include it like any other. */
  readonly isApart?: true
  /** The last so many settings of `-c` apply to this message only. */
  readonly ownOverrides?: number
  /** The model of the other messages, if this one uses its own model; empty: the model of the settings. */
  readonly modelOfOthers?: string
}

/** The chat message that the facts of a `run.start` record describe; undefined: the run is not a chat message. */
export function chatPlaceOf(facts: unknown): ChatPlace | undefined {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  const chat = isObject(invocation) ? invocation['chat'] : undefined
  if (!isObject(chat) || typeof chat['id'] !== 'string') return undefined
  const { id, after, isSummary, isBackground, isApart, ownOverrides, modelOfOthers } = chat
  return {
    id,
    ...(typeof after === 'string' ? { after } : {}),
    ...(isSummary === true ? { isSummary } : {}),
    ...(isBackground === true ? { isBackground } : {}),
    ...(isApart === true ? { isApart } : {}),
    ...(typeof ownOverrides === 'number' ? { ownOverrides } : {}),
    ...(typeof modelOfOthers === 'string' ? { modelOfOthers } : {}),
  }
}
