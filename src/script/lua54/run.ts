import { messageOf } from '../../base/error.ts'
import { type LuaChunk, LuaError, type LuaValue } from '../engine.ts'
import type { Core } from './core.ts'
import { errorAt, errorOf, limitError } from './errors.ts'
import { luaStatus, luaType } from '../lua/constants.ts'
import { enter, limitMessage } from './meter.ts'
import { loadModule } from './modules.ts'
import { readValue } from './read.ts'
import { type ChunkThread, closeThread, loadScript, openThread, setEnvironment } from './threads.ts'

export interface RunOptions {
  readonly variables: { readonly [name: string]: LuaValue }
  readonly signal: AbortSignal
}

/**
 * Runs a chunk in a thread of its own until it ends, going back to the event loop whenever a host function waits and every
 * few milliseconds (spec/lua-engines.md 4.1). Rejects with `LuaError`, or with the signal's reason.
 */
export async function runChunk(core: Core, chunk: LuaChunk, options: RunOptions): Promise<readonly LuaValue[]> {
  const { signal } = options
  signal.throwIfAborted()
  assertUsable(core)
  const turns = createTurns(core, signal)
  try {
    return await runThread(core, chunk, { ...options, turns })
  } catch (error) {
    // Noted before anything is called: there may be no stack left for a call.
    if (error instanceof RangeError) core.runtime.wasm.health.isBroken = true
    signal.throwIfAborted()
    throw faultOf(core, error)
  } finally {
    turns.end()
  }
}

interface ThreadOptions extends RunOptions {
  readonly turns: Turns
}

async function runThread(core: Core, chunk: LuaChunk, options: ThreadOptions): Promise<readonly LuaValue[]> {
  const { variables, signal, turns } = options
  const thread = openThread(core, chunk, loadScript)
  try {
    setEnvironment(core, thread, variables)
    for (;;) {
      signal.throwIfAborted()
      core.meter.resumedAt = performance.now()
      const step = resume(core, thread)
      if (step.kind === 'done') return readResults(core, thread)
      await turns.take(step.kind === 'pause' ? nextTurn() : step.until)
    }
  } finally {
    closeThread(core, thread)
  }
}

/** Runs a chunk in the globals at once. It cannot wait for host functions. Throws `LuaError`. */
export function runModule(core: Core, chunk: LuaChunk): void {
  const thread = openThread(core, chunk, loadModule)
  try {
    for (;;) {
      core.meter.resumedAt = performance.now()
      const step = resume(core, thread)
      if (step.kind === 'done') return
      if (step.kind === 'wait') throw new LuaError('a module cannot wait while it is loaded', { chunk: chunk.name })
    }
  } finally {
    closeThread(core, thread)
  }
}

/**
 * A fault of the engine as a `LuaError`; every other error as it is. Traps and an exhausted JavaScript stack leave
 * WebAssembly in the middle of its work, so nothing may run in that instance afterwards.
 */
export function faultOf({ runtime: { wasm } }: Core, error: unknown): unknown {
  if (error instanceof LuaError) return error
  if (error instanceof RangeError || isTrap(error)) wasm.health.isBroken = true
  return wasm.health.isBroken ? new LuaError(`the Lua engine failed: ${messageOf(error)}`, { cause: error }) : error
}

function isTrap(error: unknown): boolean {
  return error instanceof Error && error.name === 'RuntimeError'
}

/** Throws `LuaError` when nothing can run in this state any more. */
function assertUsable(core: Core): void {
  if (core.runtime.wasm.health.isBroken) throw new LuaError('the Lua engine has stopped after a fault')
  if (core.status !== 'open') throw closedError()
  if (core.limit !== undefined) throw new LuaError(limitMessage(core), { limit: core.limit })
}

export function closedError(): LuaError {
  return new LuaError('the Lua state was closed')
}

type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }

function resume(core: Core, thread: ChunkThread): Step {
  assertUsable(core)
  const { lua, cell } = core.runtime.wasm
  const status = enter(core, () => lua.lua_resume(thread.pointer, 0, 0, cell))
  if (core.status !== 'open') throw closedError()
  if (core.limit !== undefined) throw limitError(core, thread)
  if (status === luaStatus.ok) return { kind: 'done' }
  if (status === luaStatus.yield) return yielded(core, thread)
  throw errorOf(core, thread, status)
}

/** A thread yields nothing when the hook has stopped it, and the marker with a number when a host function waits. */
function yielded(core: Core, thread: ChunkThread): Step {
  const { lua } = core.runtime.wasm
  const { pointer } = thread
  if (core.paused.delete(pointer)) return { kind: 'pause' }
  if (lua.lua_type(pointer, -2) !== luaType.lightUserdata || lua.lua_touserdata(pointer, -2) !== core.waitMarker) {
    throw errorAt(core, thread, 'attempt to yield from outside a coroutine')
  }
  const id = lua.lua_tonumberx(pointer, -1, 0)
  lua.lua_settop(pointer, -3)
  const pending = core.waits.get(id)
  return pending === undefined ? { kind: 'pause' } : { kind: 'wait', until: pending.settled }
}

function readResults(core: Core, { pointer, name }: ChunkThread): readonly LuaValue[] {
  const { wasm } = core.runtime
  const source = { wasm, thread: pointer, reading: 'border', listMarker: core.listMarker } as const
  try {
    return Array.from({ length: wasm.lua.lua_gettop(pointer) }, (_, index) => readValue(source, index + 1))
  } catch (error) {
    throw new LuaError(messageOf(error), { chunk: name })
  }
}

interface Turns {
  /** Waits for a promise that never rejects. Rejects at once when the run is aborted or its state is closed. */
  take(until: Promise<void>): Promise<void>
  end(): void
}

function createTurns(core: Core, signal: AbortSignal): Turns {
  let reject: (reason: unknown) => void = () => undefined
  const interrupt = (reason: unknown): void => reject(reason)
  core.interrupts.add(interrupt)
  const stopListening = core.runtime.aborts.listen(signal, interrupt)
  return {
    take(until) {
      return new Promise((resolve, fail) => {
        if (signal.aborted) fail(signal.reason)
        reject = fail
        void until.then(resolve)
      })
    },
    end() {
      core.interrupts.delete(interrupt)
      stopListening()
    },
  }
}

async function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
