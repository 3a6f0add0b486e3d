import { textMessage, textOf, type FilePart, type Message, type ToolCallPart } from '../../src/event/message.ts'

/** The text of a message; empty when there is none. */
export function textIn(message: Message | undefined): string {
  return message === undefined ? '' : textOf(message)
}

/** A message with a text, which may be empty, followed by files or tool calls. */
export function messageOf(
  role: Message['role'],
  text: string,
  ...parts: readonly (FilePart | ToolCallPart)[]
): Message {
  return { role, parts: [...(text === '' ? [] : textMessage(role, text).parts), ...parts] }
}

export function fileOf(name: string, mediaType: string, data: string): FilePart {
  return { type: 'file', name, mediaType, data }
}

export function callOf(id: string, name: string, input: string): ToolCallPart {
  return { type: 'tool_call', id, name, input }
}

/** The result of the call with this id. */
export function resultOf(id: string, text: string, ...files: readonly FilePart[]): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }, ...files] }] }
}
