import { modelText } from '../base/model-text.ts'
import { type Message, textMessage } from './message.ts'

/** Asks for the summary that takes the place of a conversation, in a chat and in any other conversation. */
export const summaryInstruction = modelText`Sum up our conversation so far for yourself, so that you can continue it without reading it again: what I want and why, what was decided, what was done (with the names of files, functions and commands), what was found out, what is still open, and how I want you to work. Keep every fact that later work may need; omit what is settled and no longer needed. Do not call any tools. Answer with the summary only.`

const head = modelText`This is a summary of our conversation so far:`

/** The message that takes the place of what was summarized. */
export function summaryMessage(summary: string): Message {
  return textMessage('user', `${head}\n\n${summary.trim()}`)
}
