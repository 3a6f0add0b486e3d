import { messageOf } from '../../base/error.ts'
import { type LuaChunk, LuaError, type LuaValue } from '../engine.ts'
import { luaStatus, luaType } from '../lua/constants.ts'
import { assertOpen, closedError } from '../lua/core.ts'
import { createTurns, type RunOptions, type Step, takeSteps, takeTurns } from '../lua/turns.ts'
import type { Core } from './core.ts'
import { errorAt, errorOf, limitError } from './errors.ts'
import { enter } from './meter.ts'
import { loadModule } from './modules.ts'
import { readValue } from './read.ts'
import { type ChunkThread, closeThread, loadScript, openThread, setEnvironment } from './threads.ts'

/**
 * Runs a chunk in a thread of its own until it ends, going back to the event loop whenever a host function waits and every
 * few milliseconds (spec/lua-engines.md 4.1). Rejects with `LuaError`, or with the signal's reason.
 */
export async function runChunk(core: Core, chunk: LuaChunk, options: RunOptions): Promise<readonly LuaValue[]> {
  const { variables, signal } = options
  signal.throwIfAborted()
  assertUsable(core)
  // Before the try: what fails in takeTurns is caught in a later turn with all of the stack, what fails here is not.
  const turns = createTurns({ signal, interrupts: core.interrupts, aborts: core.runtime.aborts })
  try {
    const steps = {
      open: () => openThread(core, chunk, loadScript),
      start: (thread: ChunkThread) => setEnvironment(core, thread, variables),
      next: (thread: ChunkThread) => resume(core, thread),
      results: (thread: ChunkThread) => readResults(core, thread),
      end: (thread: ChunkThread) => closeThread(core, thread),
    }
    return await takeTurns(steps, { signal, turns })
  } catch (error) {
    // Noted before anything is called: there may be no stack left for a call.
    if (error instanceof RangeError) core.runtime.wasm.health.isBroken = true
    signal.throwIfAborted()
    throw faultOf(core, error)
  } finally {
    turns.end()
  }
}

/** Runs a chunk in the globals at once. It cannot wait for host functions. Throws `LuaError`. */
export function runModule(core: Core, chunk: LuaChunk): void {
  const steps = {
    open: () => openThread(core, chunk, loadModule),
    next: (thread: ChunkThread) => resume(core, thread),
    end: (thread: ChunkThread) => closeThread(core, thread),
  }
  takeSteps(steps, chunk.name)
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
  assertOpen(core)
}

function resume(core: Core, thread: ChunkThread): Step {
  assertUsable(core)
  core.meter.resumedAt = performance.now()
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
