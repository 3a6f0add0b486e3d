import type { Json, JsonObject } from '../base/json.ts'
import type { ErrorInfo } from './event.ts'
import type { Spent } from './meter.ts'
import type { Action, NewFileContent, Permission, Permit } from './permission.ts'
import type { Place } from './place.ts'

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

/**
 * When an effect that has not succeeded may be done again. `safe`: also when a crash leaves its end unknown. `ended`: when it is known
 * that it has ended; a person decides about one that was in progress. `unsafe`: never without a person's choice, because one
 * that failed may have happened.
 */
export type EffectRepeat = 'safe' | 'ended' | 'unsafe'

/** What a budget counts. `usd` is left out for unpriced models, never 0. */
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
  /** What a limit in `usd` means for a call without a known price: refused, or allowed and not counted. */
  readonly unpriced: 'deny' | 'allow'
}

/** What an agent is lent of the budget that it works under. */
export interface LeaseTerms {
  /** Who gets it, for messages: `agent "reviewer"`. */
  readonly whom: string
  /** What it may cost; of what is left out it gets an equal share. */
  readonly limits?: Partial<BudgetLimits>
  /** How many share what is left, whoever lends included. */
  readonly among: number
}

/** What the budget gave: the output limit is sent along when one is in force. */
export interface Grant {
  readonly outputTokens?: number
}

/** What an act is given. One that tries several times counts each try by itself: the grant is for the first. */
export interface Granted extends Grant {
  /** A try failed and used this; undefined: as much as was estimated. */
  readonly failed: (spent: Spent | undefined) => void
  /** Reserves the estimate again for the next try. Rejects as an effect without budget does. */
  readonly again: () => Promise<Grant>
  /** Asks for what an effect finds out only while it acts, such as a redirect. @throws BatonError when it is refused */
  readonly allow: (action: Action) => void
  /**
   * Notes a group of processes that the act has just started, by the id of its leader: when this process is killed, a later one
   * ends it. `stays`: it is meant to run on after the act.
   */
  readonly process: (pid: number, options?: { readonly stays: true }) => void
}

export interface EffectRequest<T> {
  readonly kind: EffectKind
  /** What is recorded, and compared when a record answers. */
  readonly request: Json
  /** What the permission judges. */
  readonly action: Action
  readonly repeat: EffectRepeat
  readonly estimate?: Estimate
  /** What a finished effect used; left out: nothing that is counted. */
  readonly costOf?: (value: T) => Spent
  /** The value to continue with when a person says that an effect with an unknown end was done. */
  readonly assumed?: T
}

/** A file change as its caller asks for it. Paths are as they are shown: relative to the workspace when inside. */
export interface AskedChange extends JsonObject {
  readonly op: string
  readonly path: string
}

/** Of a change whose content is in no record of the run, but among what is kept. */
export const keptContent = 'kept'

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

/** Whether a change makes a file where nothing was; what is moved is as new as it was before. */
export function makesFile(change: FileChangeRecord, wasMade: (path: string) => boolean): boolean {
  const { op, before, after, offset, from } = change
  if (op === 'append') return offset === 0
  if (op === 'move') return typeof from === 'string' && wasMade(from)
  return op !== 'mkdir' && before === null && after !== null
}

/** Where on the disk a path is; a replay writes somewhere else. Absolute paths. */
export type Disk = (path: string) => string

/**
 * What stands at a path, as it is recorded for undoing. `path` is as it is shown. `mode` are the permission bits, left out
 * where they do not matter or are not known yet. `hash` is the SHA-256 of a file's content; one without is known by
 * its size only.
 */
export type PathState = { readonly path: string } & (
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly bytes: number; readonly hash?: string; readonly mode?: number }
  /** A file that has got longer: `from` bytes as before, and behind them these. `added` is left out when it is large. */
  | {
      readonly kind: 'longer'
      readonly from: number
      readonly bytes: number
      readonly hash: string
      readonly added?: Uint8Array
    }
  | { readonly kind: 'folder'; readonly mode?: number }
  | { readonly kind: 'link'; readonly to: string }
)

/** The states of all paths that a change concerns, before and after it; folders before what is in them. */
export interface ChangeStates {
  readonly before: readonly PathState[]
  readonly after: readonly PathState[]
  /** The work tree that it happens in (its top): nothing of it is undone. Left out: the workspace. */
  readonly worktree?: string
}

/** A content to be kept: that of a file (absolute path), or these bytes. `hash`: their SHA-256, where it is known. */
export type KeptContent = ({ readonly file: string } | { readonly bytes: string | Uint8Array }) & {
  readonly hash?: string
}

/** A content that is known by its hash, of bytes that are not changed any more or of a file that may be. */
export type HashedContent = ({ readonly file: string } | { readonly bytes: Uint8Array }) & { readonly hash: string }

/** What is kept of a change, so that it can be undone and shown later. */
export interface Kept extends ChangeStates {
  readonly contents: Iterable<KeptContent>
}

export interface PlannedChange {
  readonly record: FileChangeRecord
  readonly act: (disk: Disk) => void
  /**
   * Called once before the act where the change is recorded on the disk. `isFirst` is true for a path that was not
   * asked about before: of a file that is appended to many times the content is kept only once. Left out: the change is none
   * that is undone.
   */
  readonly keep?: (isFirst: (path: string) => boolean) => Kept
}

/**
 * Looks at the disk and says what is going to change; undefined: nothing. Before it looks at what is there, it asks for
 * each action with `allow`, which throws when one is refused.
 */
export type PlanChange = (allow: Allow) => PlannedChange | undefined

/** Asks the permission of the gate. @throws BatonError when it refuses, or a person would have to be asked */
export type Allow = (action: Action, content?: NewFileContent) => void

/** A call as it is recorded, and compared when a record answers. */
export interface AskedCall {
  readonly name: string
  readonly args: Json
  /** The one file that it reads, as it is shown. */
  readonly reads?: string
}

export interface BoundaryOptions<T> {
  /**
   * Everything that decides what the work does, by name; undefined: nothing but its place. A finished boundary is
   * reused only while all of them are equal.
   */
  readonly inputs?: { readonly [name: string]: unknown }
  /**
   * Names of inputs that decide only what is in boundaries of its own, each with its own inputs: when nothing else
   * differs, the work is done again and what is below it is kept.
   */
  readonly partInputs?: readonly string[]
  /** Whether the value is final. A resumed run does the work again when it is not: something in it failed. */
  readonly isFinal?: (value: T) => boolean
  /**
   * Whether a resumed run does finished work again, by what is recorded of it: for what it has around it, which a value cannot hold.
   * Where the record does not answer, the work has to stop by itself.
   */
  readonly isDoneAgain?: (value: T) => boolean
  /** Told in a resumed run, before finished work is done again, what it came to. */
  readonly onDoneAgain?: (value: T) => void
  /** What failed in it, of a value that is not final. */
  readonly failureIn?: (value: T) => ErrorInfo | undefined
  /** What it is about, for people. */
  readonly label?: string
  /** It has begun in this process, and was suspended: only its end is recorded, behind what it has done by then. */
  readonly hasBegun?: boolean
  /**
   * Told in a replay, before the work is done again, what it came to then; undefined: it did not finish. For work that is stopped from
   * outside, which cannot know of that by what it asks.
   */
  readonly onReplay?: (value: T | undefined) => void
}

/**
 * The one gate for everything that has a consequence or comes from outside. Implemented in journal/; resume, replay,
 * budgets and history are built on it. Results must be JSON or undefined. Within a run no two calls have the same place.
 * See docs/design/effects.md.
 */
export interface Effects {
  /** Reads something that may differ next time: time, random, file content, listings. Synchronous, never paid. */
  observe<T>(at: Place, call: AskedCall, read: () => T): T
  /**
   * The same for what may take longer than 20 ms: searches and long listings. Before `read` looks at something it asks
   * with `allow`, which throws when that is refused. `read` is not asked when a record answers.
   */
  observeAsync<T>(at: Place, call: AskedCall, read: (allow: Allow) => Promise<T>): Promise<T>
  /** True when an observation, a change or another effect at this place is answered from a record: nothing need be prepared. */
  readonly answers: (at: Place) => boolean
  /** True when an older process of this run has finished the effect at this place, and told what there was to tell of it. */
  readonly wasDone: (at: Place) => boolean
  /**
   * Asks a person where the permission says `ask`. `since`: the question is open since then (milliseconds since 1970),
   * from an older process. @throws BatonError when it is refused, or nobody can be asked
   */
  permit(at: Place, action: Action, since?: number): Promise<Permit>
  /** Changes files: recorded before and after. True when something has changed. `plan` is not asked when a record answers. */
  changeFile(at: Place, asked: AskedChange, plan: PlanChange, permit?: Permit): boolean
  /** Does something with consequences: permission, budget, journal and events in this order. Without `permit` it asks. */
  perform<T>(
    at: Place,
    effect: EffectRequest<T>,
    act: (signal: AbortSignal, grant: Granted) => Promise<T>,
    permit?: Permit,
  ): Promise<T>
  /** A piece of work that is recorded whole when it is finished. */
  boundary<T>(at: Place, work: () => Promise<T>, options?: BoundaryOptions<T>): Promise<T>
  /** A call of a script that changes something, or waits, by effects of its own: recorded whole when it returns. */
  call<T>(at: Place, asked: AskedCall, work: () => T | Promise<T>): T | Promise<T>
  /** To be called before what was done at and below a place is undone, because some of it failed. */
  undo(at: Place): void
  /**
   * To be asked once it is undone. True when that failure is one of an older process: everything at and below the place
   * is then forgotten, and to be done again.
   */
  again(at: Place): boolean
  /** The same gate for somebody with other rights. */
  under(permission: Permission): Effects
}
