import type { Json, JsonObject } from '../base/json.ts'
import type { ErrorInfo } from './event.ts'

/**
 * Where in a run something happens: the names from the run down, with no counter shared by siblings that run at
 * once (DESIGN 11), for example `['redo', '0', 'task', '5', 'pre_task', '0:lint', 'data#3']`. Indices count from 0.
 */
export type Place = readonly string[]

/** The place as one string: `redo/0/task/5/pre_task/0:lint/data#3`. A `/` inside a name is written `%2F`. */
export function placeText(place: Place): string {
  return place.map((name) => name.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/')
}

/** The place that a text stands for; undoes `placeText`. */
export function placeOf(text: string): Place {
  return text.split('/').map((name) => name.replaceAll('%2F', '/').replaceAll('%25', '%'))
}

/** The place of the n-th host call of a section, counted from 0. */
export function hostCallPlace(section: Place, n: number): Place {
  return [...section.slice(0, -1), `${section.at(-1) ?? ''}#${n}`]
}

export type EffectKind =
  | 'model'
  | 'http'
  | 'command'
  | 'tool'
  | 'mcp'
  | 'file'
  | 'git'
  | 'agent'
  | 'message'
  | 'approval'

/** What an effect did cost. `usd` is left out for unpriced models, never 0. */
export interface Cost {
  readonly calls?: number
  readonly tokens?: number
  readonly usd?: number
}

/**
 * What an effect may cost at most. Without `output` it costs `tokens` and `usd`; with it the output comes on top, and
 * may be lowered to `least` tokens when a budget has no more left. `usd` and `usdPerToken` are left out where no price
 * is known.
 */
export interface Estimate extends Cost {
  readonly output?: { readonly tokens: number; readonly usdPerToken?: number; readonly least: number }
}

/** Limits of model calls; what is left out is not limited. */
export interface BudgetLimits {
  /** US dollars, kept to a billionth. */
  readonly usd?: number
  /** Input and output together. */
  readonly tokens?: number
  readonly calls?: number
  /** What a limit in `usd` says to a call without a known price: refused, or let through uncounted. */
  readonly unpriced: 'deny' | 'allow'
}

/** What the budget gave: the output limit is sent along when one is in force. */
export interface Grant {
  readonly outputTokens?: number
}

/** What an act is given. One that tries several times counts each try by itself: what it was granted is for the first. */
export interface Granted extends Grant {
  /** A try failed and did cost this; undefined: as much as was estimated. */
  readonly failed: (cost: Cost | undefined) => void
  /** Sets the estimate aside anew for the next try. Rejects as an effect does that has no budget. */
  readonly again: () => Promise<Grant>
}

export interface EffectRequest {
  readonly kind: EffectKind
  readonly request: Json
  /** `safe`: may be done again when a crash leaves its end unknown; `unsafe`: never without a person's choice. */
  readonly repeat: 'safe' | 'unsafe'
  readonly estimate?: Estimate
  /** The value to go on with when a person says that an effect was done whose end is not known. */
  readonly assumed?: Json
}

/** A file change as its caller asks for it. Paths are as they are shown: relative to the workspace when inside. */
export interface AskedChange extends JsonObject {
  readonly op: string
  readonly path: string
}

/**
 * What a file change is going to do. `before` and `after` are SHA-256 of what is at `path`, null for nothing; of an
 * `append`, `after` is that of what is added, `bytes` its length, and `offset` the size before.
 */
export interface FileChangeRecord extends JsonObject {
  readonly op: string
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

/** Where on the disk a path is; a replay writes somewhere else. Absolute paths. */
export type Disk = (path: string) => string

export interface PlannedChange {
  readonly record: FileChangeRecord
  readonly act: (disk: Disk) => void
}

/** What a call is compared with when it is answered from a record. */
export interface AskedCall {
  readonly name: string
  readonly args: Json
}

export interface BoundaryOptions<T> {
  /**
   * Everything that decides what the work does, by name; undefined: nothing but its place. A finished boundary is read
   * back only while all of them are equal.
   */
  readonly inputs?: { readonly [name: string]: unknown }
  /** Whether the value is final. A resumed run does the work again when it is not: something in it failed. */
  readonly isFinal?: (value: T) => boolean
  /** What failed in it, of a value that is not final. */
  readonly failureIn?: (value: T) => ErrorInfo | undefined
  /** What it is about, for people. */
  readonly label?: string
}

/**
 * The one gate for everything that has a consequence or comes from outside (DESIGN 2 rule 3). Implemented in
 * journal/; resume, replay, budgets and history are built on it. Results must be JSON or undefined. Within a run no
 * two calls have the same place.
 */
export interface Effects {
  /** Reads something that may differ next time: time, random, file content, listings. Synchronous, never paid. */
  observe<T>(at: Place, call: AskedCall, read: () => T): T
  /** True when an observation at this place has its answer already: nothing need be made ready for it. */
  readonly answers?: (at: Place) => boolean
  /**
   * Changes files: noted before and after. `plan` looks at the disk and says what is going to change, undefined when
   * nothing is; it is not asked when a record answers. True when something has changed.
   */
  changeFile(at: Place, asked: AskedChange, plan: () => PlannedChange | undefined): boolean
  /** Does something with consequences: policy, budget, journal and events in one place. */
  perform<T>(at: Place, effect: EffectRequest, act: (signal: AbortSignal, grant: Granted) => Promise<T>): Promise<T>
  /** A piece of work that is recorded whole when it is finished. */
  boundary<T>(at: Place, work: () => Promise<T>, options?: BoundaryOptions<T>): Promise<T>
  /** A call of a script that changes something, or waits, by effects of its own: recorded whole when it returns. */
  call<T>(at: Place, asked: AskedCall, work: () => T | Promise<T>): T | Promise<T>
}
