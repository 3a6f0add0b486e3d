import { messageOf } from '../../base/error.ts'
import { type HostFunction, LuaError, type LuaValue } from '../engine.ts'
import type { Core, Wait } from './core.ts'
import { registry } from '../lua/constants.ts'
import type { Pointer } from './exports.ts'
import { raiseLimit } from './hook.ts'
import { startClock, stopClock } from './meter.ts'
import { pushValue } from './push.ts'
import { readValue } from './read.ts'
import { pushText, readMessage } from './text.ts'
import { longJump } from './wasm.ts'

const firstUpvalue = registry - 1
/** Errors kept for finding the cause of an uncaught one; older ones have been handled by then. */
const keptErrors = 32

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

type Called =
  | { readonly kind: 'pushed'; readonly count: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'waits'; readonly result: Promise<readonly LuaValue[]> }

function callAndPush(core: Core, definition: HostFunction, thread: Pointer): Called {
  stopClock(core)
  try {
    const result = definition.call(readArguments(core, definition, thread))
    if (result instanceof Promise) return { kind: 'waits', result }
    return { kind: 'pushed', count: pushResults(core, thread, result) }
  } catch (error) {
    if (error === longJump) throw error
    return { kind: 'failed', error }
  } finally {
    startClock(core)
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
  const pending: Wait = {
    path,
    outcome: { kind: 'pending' },
    settled: result.then(
      (values) => {
        pending.outcome = { kind: 'values', values }
      },
      (error: unknown) => {
        pending.outcome = { kind: 'failed', error }
      },
    ),
  }
  if (lua.lua_isyieldable(thread) === 0) return raise(core, thread, cannotWait(path))
  const id = core.nextWait++
  core.waits.set(id, pending)
  lua.lua_settop(thread, 0)
  lua.lua_pushlightuserdata(thread, core.waitMarker)
  lua.lua_pushnumber(thread, id)
  return lua.lua_yieldk(thread, 2, id, pointers.resumed)
}

/** Continuation of a call that has waited: its values, or its error at the place of the call. */
export function goOn(core: Core, thread: Pointer, id: number): number {
  const waited = core.waits.get(id)
  core.waits.delete(id)
  const finished = waited === undefined ? undefined : pushOutcome(core, thread, waited)
  if (finished?.kind === 'pushed') return finished.count
  return raise(core, thread, finished === undefined ? new Error('a wait was resumed twice') : finished.error)
}

function pushOutcome(core: Core, thread: Pointer, { path, outcome }: Wait): Exclude<Called, { kind: 'waits' }> {
  if (outcome.kind === 'failed') return outcome
  if (outcome.kind === 'pending') {
    return { kind: 'failed', error: new Error(`the coroutine was resumed while '${path}' was waiting in it`) }
  }
  try {
    return { kind: 'pushed', count: pushResults(core, thread, outcome.values) }
  } catch (error) {
    if (error === longJump) throw error
    return { kind: 'failed', error }
  }
}

/** `refuse(id)` of the prelude: this wait was begun in a coroutine that was resumed where nobody can wait. */
export function refuseWait(core: Core, thread: Pointer): number {
  const refused = core.waits.get(core.runtime.wasm.lua.lua_tonumberx(thread, 1, 0))
  if (refused !== undefined) refused.outcome = { kind: 'failed', error: cannotWait(refused.path) }
  return core.limit === undefined ? 0 : raiseLimit(core, thread)
}

function cannotWait(path: string): Error {
  return new Error(`'${path}' has to wait for its result, which is not possible inside this callback`)
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
  core.hostErrors.push({ text: readMessage(wasm, thread, -1), error })
  if (core.hostErrors.length > keptErrors) core.hostErrors.shift()
  return wasm.lua.lua_error(thread)
}
