import { messageOf } from '../../base/error.ts'
import { type HostFunction, LuaError, type LuaValue } from '../engine.ts'
import { registry } from '../lua/constants.ts'
import { keepHostError } from '../lua/host-errors.ts'
import { startClock, stopClock } from '../lua/meter.ts'
import { addWait, type Called, cannotWait, createWait, failWait, takeOutcome } from '../lua/waits.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import { raiseLimit } from './hook.ts'
import { pushValue } from './push.ts'
import { readValue } from './read.ts'
import { pushText, readMessage } from './text.ts'
import { longJump } from './wasm.ts'

const firstUpvalue = registry - 1

/**
 * Body of every C function the engine installs. Its upvalue is the place of a host function in the state's list, or below
 * 0 one of the engine's own calls.
 */
export function callByNumber(core: Core, thread: Pointer): number {
  const number = core.runtime.wasm.lua.lua_tonumberx(thread, firstUpvalue, 0)
  if (number < 0) return core.calls[-number - 1]?.(thread) ?? 0
  const definition = core.options.functions[number]
  return definition === undefined ? 0 : callHost(core, definition, thread)
}

/** Calls a host function from Lua: deep copies in and out, a wait when it returns a promise. */
export function callHost(core: Core, definition: HostFunction, thread: Pointer): number {
  if (core.limit !== undefined) return raiseLimit(core, thread)
  const called = callAndPush(core, definition, thread)
  switch (called.kind) {
    case 'pushed':
      return called.count
    case 'failed':
      return raise(core, thread, called.error)
    case 'waits':
      return wait(core, thread, { path: definition.path, result: called.result })
  }
}

function callAndPush(core: Core, definition: HostFunction, thread: Pointer): Called {
  stopClock(core.meter)
  try {
    const result = definition.call(readArguments(core, definition, thread))
    if (result instanceof Promise) return { kind: 'waits', result }
    return { kind: 'pushed', count: pushResults(core, thread, result) }
  } catch (error) {
    if (error === longJump) throw error
    return { kind: 'failed', error }
  } finally {
    startClock(core.meter)
  }
}

function readArguments(core: Core, { path, tables }: HostFunction, thread: Pointer): readonly LuaValue[] {
  const { wasm } = core.runtime
  const source = { wasm, thread, reading: tables, listMarker: core.listMarker }
  return Array.from({ length: wasm.lua.lua_gettop(thread) }, (_, index) => {
    try {
      return readValue(source, index + 1)
    } catch (error) {
      if (error === longJump) throw error
      throw new LuaError(`bad argument #${index + 1} to '${path}' (${messageOf(error)})`)
    }
  })
}

/** Replaces the arguments on the stack by results. */
function pushResults(core: Core, thread: Pointer, results: readonly LuaValue[]): number {
  const { wasm } = core.runtime
  wasm.lua.lua_settop(thread, 0)
  if (wasm.lua.lua_checkstack(thread, results.length + 4) === 0) throw new Error('too many results for Lua')
  for (const result of results) pushValue({ wasm, thread, pushListMarker: listMarkerOf(core) }, result)
  return results.length
}

export function listMarkerOf({ runtime: { wasm }, references }: Core): (thread: Pointer) => void {
  return (thread) => {
    wasm.bridge.getElement(thread, registry, references.listMarker)
  }
}

interface Waiting {
  readonly path: string
  readonly result: Promise<readonly LuaValue[]>
}

/** Yields to the driver (run.ts) until the promise settles; `goOn` then continues in the middle of the call. */
function wait(core: Core, thread: Pointer, { path, result }: Waiting): number {
  const { lua, pointers } = core.runtime.wasm
  const pending = createWait(path, result)
  if (lua.lua_isyieldable(thread) === 0) return raise(core, thread, cannotWait(path))
  const id = addWait(core, pending)
  lua.lua_settop(thread, 0)
  lua.lua_pushlightuserdata(thread, core.waitMarker)
  lua.lua_pushnumber(thread, id)
  return lua.lua_yieldk(thread, 2, id, pointers.resumed)
}

/** Continuation of a call that has waited: its values, or its error at the place of the call. */
export function goOn(core: Core, thread: Pointer, id: number): number {
  const outcome = takeOutcome(core, id)
  const finished = outcome.kind === 'values' ? tryPush(core, thread, outcome.values) : outcome
  return finished.kind === 'pushed' ? finished.count : raise(core, thread, finished.error)
}

function tryPush(core: Core, thread: Pointer, values: readonly LuaValue[]): Exclude<Called, { kind: 'waits' }> {
  try {
    return { kind: 'pushed', count: pushResults(core, thread, values) }
  } catch (error) {
    if (error === longJump) throw error
    return { kind: 'failed', error }
  }
}

/** `refuse(id)` of the prelude: this wait was begun in a coroutine that was resumed where nobody can wait. */
export function refuseWait(core: Core, thread: Pointer): number {
  failWait(core, core.runtime.wasm.lua.lua_tonumberx(thread, 1, 0))
  return core.limit === undefined ? 0 : raiseLimit(core, thread)
}

/**
 * Raises the error of a host function at the place of the call, as Lua's `error` would: a string with the position in
 * front. The error itself is kept, so that it is the `cause` when nobody catches the string.
 */
function raise(core: Core, thread: Pointer, error: unknown): number {
  const { wasm } = core.runtime
  wasm.lua.lua_settop(thread, 0)
  wasm.lua.luaL_where(thread, 1)
  pushText(wasm, thread, messageOf(error))
  wasm.lua.lua_concat(thread, 2)
  keepHostError(core.hostErrors, { text: readMessage(wasm, thread, -1), error })
  return wasm.lua.lua_error(thread)
}
