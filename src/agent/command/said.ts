import type { Json, JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'

/** What a program said on its standard output, in our words. */
export type Said =
  /** The name by which a later run of the program takes up this conversation. */
  | { readonly type: 'session'; readonly id: string }
  /** The model that answers, as the program calls it. */
  | { readonly type: 'model'; readonly name: string }
  /** A piece of the message that it is writing. */
  | { readonly type: 'piece'; readonly text: string }
  /** A message is complete; it replaces its pieces. */
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'tool'; readonly id: string; readonly name: string; readonly input: Json }
  | { readonly type: 'tool_end'; readonly id: string; readonly output: string; readonly isError: boolean }
  /** More of what it used. `costUsd`: left out where the program does not know it. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly costUsd?: number }
  /** Its answer, where that is not the last message. */
  | { readonly type: 'answer'; readonly text: string }
  /** Why it has none. */
  | { readonly type: 'failed'; readonly message: string }

/** Reads the events of one run, in their order. What it does not know says nothing. */
export type EventReader = (event: JsonObject) => readonly Said[]

/** The field of an object as text; empty where it is none. */
export function textIn(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueIn(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** The field of an object as a number that is not below 0; 0 where it is none. */
export function countIn(value: Json | undefined, ...path: readonly string[]): number {
  const found = valueIn(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) && found > 0 ? found : 0
}

/** The list at a field; empty where there is none. */
export function listIn(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = valueIn(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

/** What is at the end of a path of fields; undefined where there is nothing. */
export function valueIn(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (found, key) =>
      typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as JsonObject)[key] : undefined,
    value,
  )
}
