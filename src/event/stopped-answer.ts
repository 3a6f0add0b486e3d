import { modelText } from '../base/model-text.ts'
import { type Message, textMessage } from './message.ts'

/**
 * What a model has said of an answer that was not finished, as a message of a conversation that goes on. It has a text
 * in any case, because some hosts accept neither an empty message nor two messages of the user in a row.
 * @param text what had arrived, as the user saw it
 * @param isStopped the user stopped it; else it failed
 */
export function stoppedAnswer(text: string, isStopped: boolean): Message {
  const mark = isStopped
    ? modelText`[The user stopped this answer here.]`
    : modelText`[This answer failed here, before it was finished.]`
  return textMessage('assistant', text.trim() === '' ? mark : `${text.trimEnd()}\n\n${mark}`)
}
