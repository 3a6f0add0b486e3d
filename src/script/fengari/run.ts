import { messageOf } from '../../base/error.ts'
import { type LuaChunk, LuaError, type LuaValue } from '../engine.ts'
import { luaStatus, luaType } from '../lua/constants.ts'
import { assertOpen, closedError } from '../lua/core.ts'
import { createTurns, type RunOptions, type Step, takeSteps, takeTurns } from '../lua/turns.ts'
import type { Core } from './core.ts'
import { errorAt, errorOf, limitError } from './errors.ts'
import { enter } from './meter.ts'
import { readValue } from './read.ts'
import { type ChunkThread, closeThread, openThread, setEnvironment } from './threads.ts'

/**
 * Runs a chunk in a thread of its own until it ends, going back to the event loop whenever a host function waits and every
 * few milliseconds (spec/lua-engines.md 4.1). Rejects with `LuaError`, or with the signal's reason.
 */
export async function runChunk(core: Core, chunk: LuaChunk, options: RunOptions): Promise<readonly LuaValue[]> {
  const { variables, signal } = options
  signal.throwIfAborted()
  assertOpen(core)
  const turns = createTurns({ signal, interrupts: core.interrupts, aborts: core.runtime.aborts })
  const steps = {
    open: () => openThread(core, chunk),
    start: (thread: ChunkThread) => setEnvironment(core, thread, variables),
    next: (thread: ChunkThread) => resume(core, thread),
    results: (thread: ChunkThread) => readResults(core, thread),
    end: (thread: ChunkThread) => closeThread(core, thread),
  }
  try {
    return await takeTurns(steps, { signal, turns })
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    turns.end()
  }
}

/** Runs a chunk in the globals at once. It cannot wait for host functions. Throws `LuaError`. */
export function runModule(core: Core, chunk: LuaChunk): void {
  const steps = {
    open: () => openThread(core, chunk),
    next: (thread: ChunkThread) => resume(core, thread),
    end: (thread: ChunkThread) => closeThread(core, thread),
  }
  takeSteps(steps, chunk.name)
}

function resume(core: Core, thread: ChunkThread): Step {
  assertOpen(core)
  core.meter.resumedAt = performance.now()
  const status = enter(core, () => core.api.lua_resume(thread.thread, null, 0))
  if (core.status !== 'open') throw closedError()
  if (core.limit !== undefined) throw limitError(core, thread)
  if (status === luaStatus.ok) return { kind: 'done' }
  if (status === luaStatus.yield) return yielded(core, thread)
  throw errorOf(core, thread, status)
}

/** A thread yields nothing when the hook has stopped it, and the marker with a number when a host function waits. */
function yielded(core: Core, source: ChunkThread): Step {
  const { api } = core
  const { thread } = source
  if (core.paused.delete(thread)) return { kind: 'pause' }
  const isWait =
    api.lua_gettop(thread) >= 2 &&
    api.lua_type(thread, -2) === luaType.lightUserdata &&
    api.lua_touserdata(thread, -2) === core.waitMarker
  if (!isWait) throw errorAt(core, source, 'attempt to yield from outside a coroutine')
  const id = api.lua_tonumber(thread, -1)
  api.lua_settop(thread, -3)
  const pending = core.waits.get(id)
  return pending === undefined ? { kind: 'pause' } : { kind: 'wait', until: pending.settled }
}

function readResults({ api, listMarker, nullValue }: Core, { thread, name }: ChunkThread): readonly LuaValue[] {
  const source = { api, thread, reading: 'border', listMarker, nullValue } as const
  try {
    return Array.from({ length: api.lua_gettop(thread) }, (_, index) => readValue(source, index + 1))
  } catch (error) {
    throw new LuaError(messageOf(error), { chunk: name })
  }
}
