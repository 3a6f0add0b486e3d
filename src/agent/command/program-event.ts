import type { Json, JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'

/** A program's output event, translated to our terms. */
export type ProgramEvent =
  /** The id by which a later run of the program resumes this conversation. */
  | { readonly type: 'session'; readonly id: string }
  /** The answering model, by the program's name for it. */
  | { readonly type: 'model'; readonly name: string }
  /** A piece of the message in progress. */
  | { readonly type: 'piece'; readonly text: string }
  /** A complete message, which replaces its pieces. */
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'tool'; readonly id: string; readonly name: string; readonly input: Json }
  | { readonly type: 'tool_end'; readonly id: string; readonly output: string; readonly isError: boolean }
  /** Additional usage. `costUsd` is absent if the program does not know it. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly costUsd?: number }
  /** Its answer, if that is not the last message. */
  | { readonly type: 'answer'; readonly text: string }
  /** Why it has no answer. */
  | { readonly type: 'failed'; readonly message: string }

/** Translates the events of one run, in order. Unknown events yield nothing. */
export type EventReader = (event: JsonObject) => readonly ProgramEvent[]

/** The field of an object as text; empty if it is not text. */
export function textIn(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueIn(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** The field of an object as a number; 0 if it is not a number or is negative. */
export function countIn(value: Json | undefined, ...path: readonly string[]): number {
  const found = valueIn(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) && found > 0 ? found : 0
}

/** The list at a field; empty if there is none. */
export function listIn(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = valueIn(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

/** The value at a path of fields; undefined if there is none. */
export function valueIn(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (found, key) =>
      typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as JsonObject)[key] : undefined,
    value,
  )
}
