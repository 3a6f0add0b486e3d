import { isObject, type JsonObject } from '../../base/json.ts'
import type { Message } from '../../event/message.ts'
import type { OutputFormat } from '../provider.ts'
import { parseJson } from './reading.ts'

/** Asks in words for an answer that fits the schema, where a host cannot enforce it. */
export function schemaInstruction({ schema }: OutputFormat): string {
  return [
    'Answer with JSON alone: a single value that fits the JSON Schema below, with no code fence and no words around it.',
    JSON.stringify(schema),
  ].join('\n\n')
}

/** The text of a message for a format that has no field for the speaker's name (R282). */
export function spokenText({ name, content }: Message): string {
  return name === undefined || content === '' ? content : `${name}: ${content}`
}

/** The arguments of a tool call as the object some formats want. What the model wrote wrongly is shown to it as it was. */
export function callInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parseJson(text)
  return isObject(value) ? (value as JsonObject) : { invalid_json: text }
}
