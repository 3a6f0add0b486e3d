import {
  closedError,
  type LuaChunk,
  LuaError,
  type LuaErrorDetails,
  limitMessage,
  type LuaStateOptions,
} from '../engine.ts'
import type { LuaApi, Thread } from './api.ts'
import type { HostError, Wait } from './calls.ts'
import type { InstallPlan } from './state.ts'
import type { ChunkNames, Position } from './positions.ts'
import type { KnownModules } from './run.ts'

export type Limit = NonNullable<LuaErrorDetails['limit']>

/**
 * What an engine provides besides its C API: it opens and closes states and enforces limits. limits.ts decides when.
 */
export interface Backend {
  readonly api: LuaApi
  readonly health: Health
  /** The prelude, compiled during the build of Baton. */
  readonly prelude: Uint8Array | undefined
  /** The Lua part of a host module by its name, compiled during the build of Baton. */
  readonly compiledModule?: (name: string) => Uint8Array | undefined
  /**
   * A state with the standard libraries that have no access to the outside. Only the engine knows what the number
   * `memory` means.
   */
  openState(): Pick<LuaCore, 'main' | 'memory'>
  closeState(state: Pick<LuaCore, 'main' | 'memory'>): void
  /** Called when a state is set up: from here on its memory use counts. */
  watchMemory?(core: LuaCore): void
  /** Runs Lua code of a state with its memory limit enforced. */
  enter<T>(core: LuaCore, body: () => T): T
  isMemoryUsedUp(core: LuaCore, moment: { readonly isTurnOver: boolean }): boolean
  /**
   * Ends the call in a thread that cannot stop for a limit. Running out of memory is the one error that calls no
   * message handler: a handler called from here would run with hooks off, and an endless one could not be stopped.
   */
  raiseLimit(core: LuaCore, thread: Thread): never
}

export interface Health {
  /** After a fault the memory of Lua is in an unknown state: nothing may run here anymore. */
  isBroken: boolean
  /**
   * Traps and an exhausted JavaScript stack interrupt WebAssembly in the middle of its work; JavaScript code is not
   * affected.
   */
  readonly canBreak: boolean
}

/** What the states of one engine share. */
export interface Runtime extends Omit<Backend, 'prelude'> {
  /** The prelude as a binary chunk without line information. */
  readonly prelude: Uint8Array
  /** What `compiledModule` returns in a built Baton. */
  readonly compileModule: (module: LuaChunk) => Uint8Array
  readonly modules: KnownModules
  /** Where the host functions of the latest state were installed. */
  installed: InstallPlan | undefined
  /** The state whose Lua code is running; host functions and hooks belong to it. */
  running: LuaCore | undefined
}

export interface LuaCore {
  readonly runtime: Runtime
  readonly api: LuaApi
  readonly options: LuaStateOptions
  readonly main: Thread
  readonly memory: number
  readonly names: ChunkNames
  readonly meter: Meter
  /** Identity of the metatable that marks lists. */
  readonly listMarker: unknown
  readonly references: References
  readonly waits: Map<number, Wait>
  nextWait: number
  /** The latest errors of host functions: an uncaught one is matched by its text and becomes the `cause`. */
  readonly hostErrors: HostError[]
  /** Called to end every suspended run when the state is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  /** Threads that the hook has stopped between two instructions: a coroutine first, then the one that resumed it. */
  readonly paused: Set<Thread>
  limit: Limit | undefined
  /** Where the limit was reached. */
  limitPlace: { readonly position: Position | undefined; readonly traceback: string | undefined } | undefined
  /** How many times Lua code of this state has been entered; more than one when a host function runs a chunk. */
  depth: number
  status: 'open' | 'closing' | 'closed'
  /** Whether the event loop can get a turn: not while the state is being created. */
  canPause: boolean
}

/** Registry keys of values that the engine needs later. */
interface References {
  readonly listMarker: number
  /** The table whose keys are the threads that chunks run in. */
  readonly runs: number
  /** The prelude's `tostring`. */
  tostring: number
}

/** How long the Lua code of a state has run, and how many instructions. */
interface Meter {
  usedMs: number
  /** When the running code was entered, or continued after a host function, in milliseconds. */
  startedAt: number
  /** When Lua last resumed from the event loop. */
  resumedAt: number
  /** Thousands of instructions. */
  thousands: number
}

function startClock(meter: Meter): void {
  meter.startedAt = performance.now()
}

/** From here on time does not count: the engine or a host function is at work. */
function stopClock(meter: Meter): void {
  meter.usedMs += performance.now() - meter.startedAt
}

/** Runs Lua code of a state: its clock runs, its limits apply, and calls and hooks see it as the running state. */
export function enter<T>(core: LuaCore, body: () => T): T {
  const { runtime, meter } = core
  const outer = runtime.running
  runtime.running = core
  core.depth++
  startClock(meter)
  try {
    return runtime.enter(core, body)
  } finally {
    stopClock(meter)
    core.depth--
    runtime.running = outer
  }
}

/** Throws `LuaError` if nothing can run in this state anymore, because of a fault, a close or a limit. */
export function assertUsable({ runtime, status, limit, options }: LuaCore): void {
  if (runtime.health.isBroken) throw new LuaError('the Lua engine has stopped after a fault')
  if (status !== 'open') throw closedError()
  if (limit !== undefined) throw new LuaError(limitMessage(limit, options.limits), { limit })
}
