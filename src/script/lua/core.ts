import { type LuaErrorDetails, LuaError, type LuaStateOptions } from '../engine.ts'
import type { HostError } from './host-errors.ts'
import { limitMessage } from './limit-message.ts'
import type { Meter } from './meter.ts'
import type { ChunkNames } from './names.ts'
import type { Wait } from './waits.ts'

export type Limit = NonNullable<LuaErrorDetails['limit']>

/** What every engine keeps of one Lua state; `Thread` is how the engine refers to a Lua thread. */
export interface LuaCore<Thread> {
  readonly options: LuaStateOptions
  readonly main: Thread
  readonly names: ChunkNames
  readonly meter: Meter
  readonly references: References
  readonly waits: Map<number, Wait>
  /** The latest errors of host functions: an uncaught one is found again by its text and becomes the `cause`. */
  readonly hostErrors: HostError[]
  /** Ends every suspended run when the state is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  /** Threads that the hook has stopped between two instructions: a coroutine, and then the one that resumed it. */
  readonly paused: Set<Thread>
  /** Registry key of the prelude's `tostring`. */
  tostring: number
  nextWait: number
  limit: Limit | undefined
  /** How many times Lua code of this state is entered at this moment; more than one when a host function runs a chunk. */
  depth: number
  status: 'open' | 'closing' | 'closed'
}

/** Registry keys of values that the engine needs again. */
export interface References {
  readonly listMarker: number
  readonly runs: number
}

export function closedError(): LuaError {
  return new LuaError('the Lua state was closed')
}

/** Throws `LuaError` when nothing can run in this state any more, because it was closed or a limit has ended it. */
export function assertOpen<Thread>({ status, limit, options }: LuaCore<Thread>): void {
  if (status !== 'open') throw closedError()
  if (limit !== undefined) throw new LuaError(limitMessage(limit, options.limits), { limit })
}
