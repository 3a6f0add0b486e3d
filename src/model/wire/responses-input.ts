import type { JsonObject } from '../../base/json.ts'
import type { Message } from '../../event/message.ts'
import { spokenText } from './instruct.ts'

/** The texts of the system messages the conversation begins with. */
export function instructionsOf(messages: readonly Message[]): readonly string[] {
  return messages.slice(0, afterInstructions(messages)).map(({ content }) => content)
}

/** The items of a Responses request: everything after the instructions (R282, R283). */
export function inputItems(messages: readonly Message[]): readonly JsonObject[] {
  return messages.slice(afterInstructions(messages)).flatMap(itemsOf)
}

function afterInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role, attachment }) => role !== 'system' || attachment !== undefined)
  return first === -1 ? messages.length : first
}

function itemsOf(message: Message): readonly JsonObject[] {
  const { role, tool_calls: calls = [], tool_call_id: id } = message
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id ?? '', output: contentOf(message) }]
  const called = calls.map((call) => ({
    type: 'function_call',
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
  }))
  if (message.content === '' && message.attachment === undefined && called.length > 0) return called
  return [{ role, content: contentOf(message) }, ...called]
}

/** Text alone stays a string; an attachment makes it a list of parts. */
function contentOf(message: Message): string | readonly JsonObject[] {
  const text = spokenText(message)
  if (message.attachment === undefined) return text
  const { name, mediaType, data } = message.attachment
  const url = `data:${mediaType};base64,${data}`
  const file = mediaType.startsWith('image/')
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', filename: name, file_data: url }
  return text === '' ? [file] : [{ type: 'input_text', text }, file]
}
