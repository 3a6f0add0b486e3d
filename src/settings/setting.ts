import type { DataPath } from '../base/data-text.ts'
import type { z } from 'zod'
import type { Json, JsonObject } from '../base/json.ts'
import type * as kinds from './kinds.ts'
import type { Finding } from './issue.ts'

/**
 * How a value that comes with a folder may differ from the user's value: a folder only tightens.
 * - `free`: it describes the work, which the person who runs the file agrees to.
 * - `user`: not at all.
 * - `down`: numbers, durations and sizes may be smaller; for a table each of them, and none may be missing.
 * - `added`: a list that is only appended to.
 * - `fewer`: a list of hosts that may allow less.
 * - `names`: a table in which names that the user has keep their values.
 * - `agents`: the same, and no command lines.
 * - `rules`: untrusted rules of a folder count only if they are stricter than the others; trusted ones count fully.
 * - A list: its values from the strictest to the loosest.
 */
export type Rule = 'free' | 'user' | 'down' | 'added' | 'fewer' | 'names' | 'agents' | 'rules' | readonly Json[]

export interface Order {
  readonly rule: Rule
  /**
   * The front matter of the file that is run is limited by what the user has written, but not by defaults: running the
   * file means agreeing to it. `free`: no limit. `default`: limited by defaults as well. `defaultWith`: limited by
   * defaults if the user has set that key, which the looser value would bypass. `unset`: if the user has set nothing,
   * limited by that value.
   */
  readonly prompt?: 'free' | 'default' | { readonly defaultWith: string } | { readonly unset: Json }
  /**
   * The rule only applies to a target that is not a file of the workspace: for its own files, a folder may set
   * anything.
   */
  readonly isForOthers?: true
  /** The limit of config files if nobody has set the key; omitted: no limit. */
  readonly unset?: Json
}

export const free: Order = { rule: 'free' }
export const user: Order = { rule: 'user' }
export const down: Order = { rule: 'down' }
/**
 * Programs that are started, and agents that replace others: the file that is run may name them, config files may not.
 */
export const byPrompt: Order = { rule: 'user', prompt: 'free' }

/** What rows build their schemas of. */
export type Kinds = typeof kinds

/** What all rows have, those of top-level keys and those of keys inside tables. */
interface Described {
  /** The meaning in one or two sentences, for `baton schema`. The long form is docs/prompt-file.md. */
  readonly text: string
  /** How a folder may set it. A table without it has an order for each of its keys. */
  readonly order?: Order
  /** The default. */
  readonly initial?: Json
  /** For a key inside a table: it may not be missing. */
  readonly isRequired?: true
}

/** A key with a value that is no table, or a table of which the rows of keys are not known. */
export interface ValueRow extends Described {
  /** What the value must be, one of the kinds of kinds.ts: that file is slow to load and handed in when values are checked. */
  readonly schema: (kinds: Kinds) => z.ZodType
}

/** A key that holds a table, or several tables with the same keys. */
export interface TableRow extends Described {
  readonly keys: KeyRows
  /** `name`: a table of such tables, by names that the author chooses. Otherwise a list of them. Omitted: one table. */
  readonly each?: 'name' | TableList
  /** Settings that the table may have as well, before its own keys. They mean the same as outside of it. */
  readonly settings?: readonly string[]
  /** What else each of the tables must be. */
  readonly refine?: (table: z.ZodType) => z.ZodType
  /** What else they must be together. */
  readonly refineAll?: (tables: z.ZodType) => z.ZodType
}

interface TableList {
  /** What the value must be, if it is no list. */
  readonly list: string
  /** What an item must be, if it may be a name instead of a table. */
  readonly orName?: string
}

export interface KeyRows {
  readonly [key: string]: ValueRow | TableRow
}

/** The row of a top-level key: everything that is known of it. */
export type SettingRow = (ValueRow | TableRow) & {
  /** `request` keys may be changed by a chain, `frame` keys are fixed at the start. */
  readonly kind: 'request' | 'frame'
  /** Only prompt files may set it: it describes a single prompt file. */
  readonly isPromptOnly: boolean
  /** Only config files and flags may set it: in a prompt file it is a parameter like any other. */
  readonly isConfigOnly?: true
  /** Earlier versions passed it as a parameter: in a prompt file, a value that it cannot have still is one, with a warning. */
  readonly isNew?: true
  /** A one-element list holds the only value that this version supports. */
  readonly available: true | readonly [Json]
  /** It concerns models: `-c` sets it for the agents of the run as well. */
  readonly isForModels: boolean
  /** A table whose keys are merged across layers; other values replace those of lower layers. */
  readonly isMerged: boolean
  /** It makes the file run other agents, scripts and command lines. */
  readonly starts?: true
  /** It decides what runs, with which files and rights: a text with it is a prompt file, which answers may not change. */
  readonly decides?: true
  /** It limits a run (whether, when and how long it goes on), but does not change what its parts do. */
  readonly isLimit?: true
  /** It holds a list. */
  readonly isList?: true
  /** A list to which each config file adds its own items. */
  readonly isAppended?: true
  /** It is in `Settings` as it is written, if it is. */
  readonly isPlain?: true
  /** What a schema cannot say of its value: how the keys of a table depend on each other. */
  readonly check?: (table: JsonObject, checkOption: OptionCheck) => readonly Finding[]
  /** Its table says how the prompt is worked on, other than by one call of a model. */
  readonly strategy?: StrategyTable
}

/** Checks an option for the main agent, which must be a request key; `path` is where the options are. */
export type OptionCheck = (key: string, value: Json, path: DataPath) => readonly Finding[]

export interface StrategyTable {
  /** What has agents in its table: plural and singular. Omitted: the agent of the file works on the prompt. */
  readonly agents?: readonly [string, string]
  /** Its agents read the parameters of the file. */
  readonly readsParams?: true
  /** Reads its checked table, with defaults; undefined: the table only says how, and something else asks for it. */
  readonly read: (table: JsonObject) => object | undefined
}

type Kind = Pick<SettingRow, 'kind' | 'isPromptOnly' | 'available' | 'isForModels' | 'isMerged'>

export const frame = {
  kind: 'frame',
  isPromptOnly: false,
  available: true,
  isForModels: false,
  isMerged: false,
} as const satisfies Kind
export const frameTable = { ...frame, isMerged: true } as const satisfies Kind
export const frameForModels = { ...frame, isForModels: true } as const satisfies Kind
export const request = { ...frame, kind: 'request' } as const satisfies Kind
export const requestForModels = { ...request, isForModels: true } as const satisfies Kind
export const promptOnly = { ...frame, isPromptOnly: true } as const satisfies Kind
/** A strategy by which several agents answer: programs and agents that only the file that is run may name. */
export const strategyOnly = { ...promptOnly, starts: true, decides: true, order: byPrompt } as const

type Immutable<T> = T extends readonly (infer Item)[] ? readonly Item[] : T

type Shown<Row> = Row extends { readonly schema: (kinds: never) => infer Schema extends z.ZodType }
  ? Immutable<z.infer<Schema>>
  : Row extends { readonly keys: infer Keys }
    ? Each<Row, Values<Keys>>
    : never

type Each<Row, Table> = Row extends { readonly each: 'name' }
  ? { readonly [name: string]: Table }
  : Row extends { readonly each: { readonly orName: string } }
    ? readonly (string | Table)[]
    : Row extends { readonly each: { readonly list: string } }
      ? readonly Table[]
      : Table

type RequiredKey<Keys> = {
  [Key in keyof Keys]: Keys[Key] extends { readonly isRequired: true } ? Key : never
}[keyof Keys]

/** A table with these keys, after the check: every key has the type of its schema. */
export type Values<Keys> = { readonly [Key in RequiredKey<Keys>]: Shown<Keys[Key]> } & {
  readonly [Key in Exclude<keyof Keys, RequiredKey<Keys>>]?: Shown<Keys[Key]>
}

/** One of the tables of a row, after the check. */
export type TableOf<Row extends { readonly keys: KeyRows }> = Values<Row['keys']>

type InitialKey<Keys> = {
  [Key in keyof Keys]: Keys[Key] extends { readonly initial: unknown } ? Key : never
}[keyof Keys]

/** The defaults of the keys of a table that have one. */
export type InitialOf<Keys> = {
  readonly [Key in InitialKey<Keys>]: Keys[Key] extends { readonly initial: infer Initial } ? Initial : never
}

export function initialOf<Keys extends KeyRows>(keys: Keys): InitialOf<Keys> {
  const entries = Object.entries(keys).flatMap(([key, { initial }]) => (initial === undefined ? [] : [[key, initial]]))
  return Object.fromEntries(entries) as InitialOf<Keys>
}
