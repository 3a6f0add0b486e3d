import type { JsonObject } from '../../base/json.ts'
import type { Message, ToolCall } from '../../event/message.ts'
import { callInput, spokenText } from './instruct.ts'

/** Google's own value for a call that comes without the signature the model gave it. */
const noSignature = 'skip_thought_signature_validator'

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

/** The system messages as parts, in their order. */
export function systemParts(messages: readonly Message[]): readonly JsonObject[] {
  return messages.filter(({ role }) => role === 'system').flatMap(partsOf)
}

/**
 * All other messages; neighbours of the same side become one, so that the results of parallel calls stand together
 * (R282, R287). `signed`: the model wants a signature at the first call of each of its turns; a conversation of ours
 * holds none.
 */
export function contentsOf(
  messages: readonly Message[],
  { signed }: { readonly signed: boolean },
): readonly JsonObject[] {
  const contents: Content[] = []
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'system') continue
    for (const call of message.tool_calls ?? []) names.set(call.id, call.name)
    const role = message.role === 'assistant' ? 'model' : 'user'
    const parts =
      message.role === 'tool' ? resultParts(message, names) : [...partsOf(message), ...callParts(message, signed)]
    if (parts.length === 0) continue
    const last = contents.at(-1)
    if (last?.role === role) contents[contents.length - 1] = { role, parts: [...last.parts, ...parts] }
    else contents.push({ role, parts })
  }
  return contents.map(({ role, parts }) => ({ role, parts }))
}

function partsOf(message: Message): readonly JsonObject[] {
  const text = spokenText(message)
  return [...(text === '' ? [] : [{ text }]), ...fileParts(message)]
}

function fileParts({ attachment }: Message): readonly JsonObject[] {
  if (attachment === undefined) return []
  const { mediaType, data } = attachment
  // of all kinds of text only the plain one is taken everywhere
  return [{ inlineData: { mimeType: mediaType.startsWith('text/') ? 'text/plain' : mediaType, data } }]
}

function callParts({ tool_calls: calls = [] }: Message, signed: boolean): readonly JsonObject[] {
  return calls.map((call, index) => ({
    functionCall: functionCall(call),
    ...(signed && index === 0 ? { thoughtSignature: noSignature } : {}),
  }))
}

function functionCall({ id, name, arguments: text }: ToolCall): JsonObject {
  return { id, name, args: callInput(text) }
}

function resultParts(message: Message, names: ReadonlyMap<string, string>): readonly JsonObject[] {
  const id = message.tool_call_id ?? ''
  const name = names.get(id) ?? message.name ?? id
  return [{ functionResponse: { id, name, response: { output: message.content } } }, ...fileParts(message)]
}
