import { messageOf } from '../../base/error.ts'
import { type LuaChunk, LuaError, type LuaValue } from '../engine.ts'
import { limitMessage } from '../lua/limit-message.ts'
import { luaStatus, luaType } from '../lua/constants.ts'
import type { Core } from './core.ts'
import { errorAt, errorOf, limitError } from './errors.ts'
import { enter } from './meter.ts'
import { readValue } from './read.ts'
import { type ChunkThread, closeThread, openThread, setEnvironment } from './threads.ts'

export interface RunOptions {
  readonly variables: { readonly [name: string]: LuaValue }
  readonly signal: AbortSignal
}

/**
 * Runs a chunk in a thread of its own until it ends, going back to the event loop whenever a host function waits and every
 * few milliseconds (spec/lua-engines.md 4.1). Rejects with `LuaError`, or with the signal's reason.
 */
export async function runChunk(core: Core, chunk: LuaChunk, options: RunOptions): Promise<readonly LuaValue[]> {
  const { variables, signal } = options
  signal.throwIfAborted()
  assertUsable(core)
  const thread = openThread(core, chunk)
  const turns = createTurns(core, signal)
  try {
    setEnvironment(core, thread, variables)
    for (;;) {
      signal.throwIfAborted()
      const step = resume(core, thread)
      if (step.kind === 'done') return readResults(core, thread)
      await turns.take(step.kind === 'pause' ? nextTurn() : step.until)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    turns.end()
    closeThread(core, thread)
  }
}

/** Runs a chunk in the globals at once. It cannot wait for host functions. Throws `LuaError`. */
export function runModule(core: Core, chunk: LuaChunk): void {
  const thread = openThread(core, chunk)
  try {
    for (;;) {
      const step = resume(core, thread)
      if (step.kind === 'done') return
      if (step.kind === 'wait') throw new LuaError('a module cannot wait while it is loaded', { chunk: chunk.name })
    }
  } finally {
    closeThread(core, thread)
  }
}

export function closedError(): LuaError {
  return new LuaError('the Lua state was closed')
}

/** Throws `LuaError` when nothing can run in this state any more. */
function assertUsable({ status, limit, options }: Core): void {
  if (status !== 'open') throw closedError()
  if (limit !== undefined) throw new LuaError(limitMessage(limit, options.limits), { limit })
}

type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }

function resume(core: Core, thread: ChunkThread): Step {
  assertUsable(core)
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
