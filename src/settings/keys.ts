import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { rows } from './rows.ts'
import { initialOf, type InitialOf, type Order, type SettingRow, type Values } from './setting.ts'

/** A value that is designed but not available in this version. */
interface Unavailable {
  readonly path: DataPath
  /** How messages name it: `"iterate"`, `mode = "code"`. */
  readonly shown: string
}

export type ReservedKey = keyof typeof rows

/** Checked layers, merged: every key with the type of its schema. */
export type SettingValues = Values<typeof rows>

type Initial<Row> = Row extends { readonly initial: infer Value }
  ? Value
  : Row extends { readonly isMerged: true; readonly keys: infer Keys }
    ? keyof InitialOf<Keys> extends never
      ? never
      : InitialOf<Keys>
    : never

export type Defaults = {
  readonly [Key in ReservedKey as [Initial<(typeof rows)[Key]>] extends [never] ? never : Key]: Initial<
    (typeof rows)[Key]
  >
}

/** The defaults of all keys that have one; for a merged table the defaults of its keys. */
export const defaults = Object.fromEntries(
  Object.entries<SettingRow>(rows).flatMap(([key, row]) => {
    const inner = row.isMerged && 'keys' in row ? initialOf(row.keys) : {}
    const { initial = Object.keys(inner).length === 0 ? undefined : inner } = row
    return initial === undefined ? [] : [[key, initial]]
  }),
) as Defaults

type PlainKey = {
  [Key in ReservedKey]: (typeof rows)[Key] extends { readonly isPlain: true } ? Key : never
}[ReservedKey]

/** The keys that settings have as they are written. */
export const plainKeys = keysWith(({ isPlain }) => isPlain === true) as readonly PlainKey[]

/** Keys of a prompt file that make it run other agents, scripts and command lines. */
export const startingKeys: readonly string[] = keysWith(({ starts }) => starts === true).toSorted()

/** Keys that decide what runs, with which files and rights. Files of other programs do not have them. */
export const decidingKeys: readonly string[] = keysWith(({ decides }) => decides === true)

/** Keys that control limits and restrictions of a run, not what its parts do. */
export const limitKeys: readonly string[] = keysWith(({ isLimit }) => isLimit === true)

function keysWith(fits: (row: SettingRow) => boolean): readonly string[] {
  return Object.entries<SettingRow>(rows).flatMap(([key, row]) => (fits(row) ? [key] : []))
}

/** Every reserved top-level key. Schemas are in schema.ts, which is slower to load. */
export const reserved: ReadonlyMap<string, SettingRow> = new Map(Object.entries(rows))

/** Whether it is a key of config files, and of `-c`. */
export function isSetting(key: string): key is ReservedKey {
  return reserved.has(key)
}

/** Whether it is a key of prompt files. Others are parameters there. */
export function isReserved(key: string): key is ReservedKey {
  return isSetting(key) && (rows[key] as SettingRow).isConfigOnly !== true
}

export function isRequestKey(key: string): boolean {
  return reserved.get(key)?.kind === 'request'
}

/** The order of a key, or of a key inside its table; undefined for an unknown key. */
export function orderOf(key: string, inner?: string): Order | undefined {
  const row = reserved.get(key)
  if (row?.order !== undefined || row === undefined || !('keys' in row)) return row?.order
  return inner !== undefined && Object.hasOwn(row.keys, inner) ? row.keys[inner]?.order : undefined
}

/** Whether only the user's own config file, or a trusted file, may set the key at all. */
export function isGuarded(key: string): boolean {
  const order = orderOf(key)
  return order?.rule === 'user' && order.prompt === undefined
}

/** An empty Lua table does not say whether it is a list: under a key that holds a list, it is one. */
export function withEmptyLists(values: JsonObject): JsonObject {
  const entries = Object.entries(values)
  return Object.fromEntries(entries.map(([key, value]) => [key, isList(key) && isEmptyTable(value) ? [] : value]))
}

function isList(key: string): boolean {
  return reserved.get(key)?.isList === true
}

/** What the files of a list of globs are for; undefined: the key holds no globs. */
export function globsKind(key: string): 'context' | 'knowledge' | 'structure' | 'working' | undefined {
  const [, kind] = /^(context|knowledge|structure|working)_globs(?:_pre|_post)?$/.exec(key) ?? []
  return kind as ReturnType<typeof globsKind>
}

function isEmptyTable(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0
}

/** The part of a reserved key's value that this version does not support. */
export function unavailableIn(key: ReservedKey, value: Json): Unavailable | undefined {
  const { available } = rows[key]
  if (available === true) return undefined
  return value === available[0] ? undefined : { path: [key], shown: `${key} = ${JSON.stringify(value)}` }
}
