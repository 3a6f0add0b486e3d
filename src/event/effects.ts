import type { BatonError } from '../base/error.ts'
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
 * When an effect that did not succeed may be repeated. `safe`: even if a crash leaves its outcome unknown. `ended`: if
 * it is known to have ended; if it was in progress, the user decides. `unsafe`: only if the user decides so, because a
 * failed one may have had consequences.
 */
export type EffectRepeat = 'safe' | 'ended' | 'unsafe'

/** What a budget counts. `usd` is omitted for models without a known price, never 0. */
export interface Cost {
  readonly calls?: number
  readonly tokens?: number
  readonly usd?: number
}

/**
 * The maximum cost of an effect: `tokens` and `usd`, plus `output`, if present, which may be lowered to `least` tokens
 * if the budget does not allow more. `usd` and `usdPerToken` are omitted if no price is known.
 */
export interface Estimate extends Cost {
  readonly output?: { readonly tokens: number; readonly usdPerToken?: number; readonly least: number }
}

/** Limits for model calls; omitted: not limited. */
export interface BudgetLimits {
  /** US dollars, to a billionth. */
  readonly usd?: number
  /** Input and output together. */
  readonly tokens?: number
  readonly calls?: number
  /** Effect of a limit in `usd` on a call without a known price: it is refused, or allowed and not counted. */
  readonly unpriced: 'deny' | 'allow'
}

/** The terms of an agent's lease from the budget that it works under. */
export interface LeaseTerms {
  /** Who gets it, for messages, for example `agent "reviewer"`. */
  readonly whom: string
  /** Its limits; for omitted ones it gets an equal share. */
  readonly limits?: Partial<BudgetLimits>
  /** How many share the remaining budget, including the lender. */
  readonly among: number
}

/** What the budget granted, with the output limit to send if one applies. */
export interface Grant {
  readonly outputTokens?: number
}

/** What an act receives. The grant is for its first try; an act that retries must account for each try. */
export interface Granted extends Grant {
  /** Reports the usage of a failed try; undefined: as estimated. */
  readonly failed: (spent: Spent | undefined) => void
  /** Reserves the estimate again for the next try. Rejects like an effect that exceeds its budget. */
  readonly again: () => Promise<Grant>
  /**
   * Checks the permission for an action that is known only during the act, such as a redirect.
   * @throws BatonError when it is refused
   */
  readonly allow: (action: Action) => void
  /**
   * Records a process group that the act has just started, by the id of its leader, so that a resume can end it if this
   * process is killed. `stays`: it is meant to outlive the act.
   */
  readonly process: (pid: number, options?: { readonly stays: true }) => void
  /**
   * Records that the act waits for something that goes on without this process: until its end is recorded, nothing of
   * it counts as paid, and a resumed run performs it again without a notice.
   */
  readonly waits: (error: BatonError) => void
}

export interface EffectRequest<T> {
  readonly kind: EffectKind
  /** Recorded, and compared with the record in a replay or resume. */
  readonly request: Json
  /** The action that is checked against the permissions. */
  readonly action: Action
  readonly repeat: EffectRepeat
  readonly estimate?: Estimate
  /** The usage of a finished effect; omitted: nothing that is counted. */
  readonly costOf?: (value: T) => Spent
  /** The value to continue with if the user decides that an effect with an unknown outcome was done. */
  readonly assumed?: T
}

/** A file change as requested by its caller. Paths are in display form: relative to the workspace if inside it. */
export interface ChangeRequest extends JsonObject {
  readonly op: string
  readonly path: string
}

/** Marks a change whose content is not in any record of the run, but among the kept contents. */
export const storedContentMarker = 'kept'

/**
 * The effect of a planned file change. `before` and `after` are the SHA-256 of the content at `path`, null for none.
 * For `append`, `after` is the SHA-256 of the added bytes, `bytes` their number, and `offset` the size before.
 */
export interface FileChangeRecord extends JsonObject {
  readonly op: string
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

/** Whether a change creates a file where none was; a moved file counts as created if it did before the move. */
export function makesFile(change: FileChangeRecord, wasMade: (path: string) => boolean): boolean {
  const { op, before, after, offset, from } = change
  if (op === 'append') return offset === 0
  if (op === 'move') return typeof from === 'string' && wasMade(from)
  return op !== 'mkdir' && before === null && after !== null
}

/** Maps a path to its location on disk, which differs in a replay. Absolute paths. */
export type Disk = (path: string) => string

/**
 * The state of a path, as recorded for undo. `path` is in display form. `mode`: permission bits, omitted if they are
 * irrelevant or not yet known. `hash`: SHA-256 of a file's content; without it, only the size is known.
 */
export type PathState = { readonly path: string } & (
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly bytes: number; readonly hash?: string; readonly mode?: number }
  /** A file that was appended to: `from` unchanged bytes, followed by these. `added` is omitted if it is large. */
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

/** The states of all paths affected by a change, before and after it; folders precede their content. */
export interface ChangeStates {
  readonly before: readonly PathState[]
  readonly after: readonly PathState[]
  /** The root of the work tree in which it happens, which undo ignores. Omitted: the workspace. */
  readonly worktree?: string
}

/** A content to keep: that of a file (absolute path), or these bytes. `hash`: SHA-256, if known. */
export type ContentToStore = ({ readonly file: string } | { readonly bytes: string | Uint8Array }) & {
  readonly hash?: string
}

/** A content with a known hash: bytes that will not change, or a file that may. */
export type HashedContent = ({ readonly file: string } | { readonly bytes: Uint8Array }) & { readonly hash: string }

/** What is kept of a change so that it can be undone and shown later. */
export interface ChangeSnapshot extends ChangeStates {
  readonly contents: Iterable<ContentToStore>
}

export interface PlannedChange {
  readonly record: FileChangeRecord
  readonly act: (disk: Disk) => void
  /**
   * Called once, before the act, if the change is recorded on disk. `isFirst` is true for a path that it was not called
   * with before: the content of a file with many appends is kept only once. Omitted: undo does not apply to the change.
   */
  readonly keep?: (isFirst: (path: string) => boolean) => ChangeSnapshot
}

/**
 * Inspects the disk and plans the change; undefined: nothing changes. It must first check each action with `allow`,
 * which throws if an action is refused.
 */
export type PlanChange = (allow: Allow) => PlannedChange | undefined

/** Checks the permission of the gate. @throws BatonError when an action is refused, or would need approval */
export type Allow = (action: Action, content?: NewFileContent) => void

/** A call as recorded, and as compared with the record in a replay or resume. */
export interface CallRequest {
  readonly name: string
  readonly args: Json
  /** The only file that it reads, in display form. */
  readonly reads?: string
}

export interface BoundaryOptions<T> {
  /**
   * Everything that determines what the work does, by name; undefined: only its place. A finished boundary is reused
   * only if all inputs are equal.
   */
  readonly inputs?: { readonly [name: string]: unknown }
  /**
   * Names of inputs that only affect inner boundaries, which have their own inputs: if no other input differs, the work
   * is repeated and the inner boundaries are kept.
   */
  readonly partInputs?: readonly string[]
  /** Names of inputs that this program alone determines: another version may have them differently. */
  readonly ownInputs?: readonly string[]
  /** Whether the value is final. If not, because something in it failed, a resumed run repeats the work. */
  readonly isFinal?: (value: T) => boolean
  /**
   * Whether a resumed run repeats finished work from its record, for side effects that a value cannot hold. The work
   * must stop by itself where the record ends.
   */
  readonly isDoneAgain?: (value: T) => boolean
  /** Called in a resumed run with the recorded value, before finished work is repeated. */
  readonly onDoneAgain?: (value: T) => void
  /** The failure in a value that is not final. */
  readonly failureIn?: (value: T) => ErrorInfo | undefined
  /** Its subject, for display. */
  readonly label?: string
  /** It was started in this process and suspended: only its end is recorded, after what it has done so far. */
  readonly hasBegun?: boolean
  /**
   * Called in a replay with the recorded value, before the work is repeated; undefined: it did not finish. For work
   * that is stopped from outside, which its own calls cannot tell.
   */
  readonly onReplay?: (value: T | undefined) => void
}

/** A recorded request. */
export interface RecordedRequest {
  readonly request: Json
  /**
   * `sources`: the files of authors that are run are the recorded ones. `files`: so are the files of the workspace. Of
   * what is `recorded`, nothing but this program itself can make a request different.
   */
  readonly sources: 'recorded' | 'current'
  readonly files: 'recorded' | 'current'
}

/**
 * The single gate for everything that has side effects or reads from outside. Implemented in journal/; resume, replay,
 * budgets and history are built on it. Results must be JSON or undefined. Within a run, places of calls are unique.
 * See docs/design/effects.md.
 */
export interface Effects {
  /** Reads something that may differ next time: time, random, file content, listings. Synchronous, never paid. */
  observe<T>(at: Place, call: CallRequest, read: () => T): T
  /**
   * The same for reads that may take longer than 20 ms: searches and long listings. `read` must check each action with
   * `allow`, which throws if it is refused. `read` is not called if the record has the result.
   */
  observeAsync<T>(at: Place, call: CallRequest, read: (allow: Allow) => Promise<T>): Promise<T>
  /**
   * True if an observation, change or other effect at this place will be answered from the record, so that nothing
   * needs to be prepared.
   */
  readonly answers: (at: Place) => boolean
  /** True if an earlier process of this run finished the effect at this place, and sent its events. */
  readonly wasDone: (at: Place) => boolean
  /** True in a replay if the recorded run started no effect at this place, and observed nothing there. */
  readonly lacks?: (at: Place) => boolean
  /** What an earlier process requested with an effect at this place; undefined if no process is known to have. */
  readonly requested: (at: Place) => RecordedRequest | undefined
  /**
   * Requests approval if the permission is `ask`. `since`: when an earlier process asked the question (milliseconds
   * since 1970), if it is still open.
   * @throws BatonError when it is refused, or nobody can be asked
   */
  permit(at: Place, action: Action, since?: number): Promise<Permit>
  /**
   * Changes files; recorded before and after. Returns whether anything changed. `plan` is not called if the record has
   * the result.
   */
  changeFile(at: Place, asked: ChangeRequest, plan: PlanChange, permit?: Permit): boolean
  /**
   * Performs an effect: permission, budget, journal and events, in this order. Without `permit`, it requests approval
   * if needed.
   */
  perform<T>(
    at: Place,
    effect: EffectRequest<T>,
    act: (signal: AbortSignal, grant: Granted) => Promise<T>,
    permit?: Permit,
  ): Promise<T>
  /** A piece of work whose result is recorded as a unit when it is finished. */
  boundary<T>(at: Place, work: () => Promise<T>, options?: BoundaryOptions<T>): Promise<T>
  /** A call of a script that makes changes or waits through effects of its own; recorded as a unit when it returns. */
  call<T>(at: Place, asked: CallRequest, work: () => T | Promise<T>): T | Promise<T>
  /** Must be called before the work at and below a place is rolled back because some of it failed. */
  undo(at: Place): void
  /**
   * Must be called after the rollback. True if the failure happened in an earlier process: everything at and below the
   * place is then void, and must be done again.
   */
  again(at: Place): boolean
  /**
   * Resolves once everything recorded so far is durable. Call it before removing what an earlier step would need again.
   */
  flush(): Promise<void>
  /** True in a replay, which neither makes nor removes anything outside its own folder. */
  readonly isReplay?: true
  /** The same gate with a different permission. */
  under(permission: Permission): Effects
}

/**
 * Methods that a decorated gate has in place of those of `inner`, the gate beneath, which has the same permission;
 * `permission` is undefined until `under` gives one.
 */
type Decoration = (inner: Effects, permission: Permission | undefined) => Partial<Omit<Effects, 'under'>>

/** The gate with other methods, under each permission. `held`: what is left of a permission beneath. */
export function decorate(
  effects: Effects,
  decoration: Decoration,
  held: (permission: Permission) => Permission = (permission) => permission,
): Effects {
  const around = (inner: Effects, permission?: Permission): Effects => ({
    ...inner,
    ...decoration(inner, permission),
    under: (other) => around(inner.under(held(other)), other),
  })
  return around(effects)
}

/** The gate with a check before each file change and effect that no record answers; `check` throws to prevent it. */
export function checkedBefore(effects: Effects, check: () => void): Effects {
  return decorate(effects, (inner) => ({
    changeFile(at, asked, plan, permit) {
      const planned: PlanChange = (allow) => {
        check()
        return plan(allow)
      }
      return inner.changeFile(at, asked, planned, permit)
    },
    perform(at, effect, act, permit) {
      const acting: typeof act = (signal, granted) => {
        check()
        return act(signal, granted)
      }
      return inner.perform(at, effect, acting, permit)
    },
  }))
}
