import { messageOf } from '../../base/error.ts'
import { type HostFunction, LuaError, type LuaValue } from '../engine.ts'
import { registry } from '../lua/constants.ts'
import { keepHostError } from '../lua/host-errors.ts'
import { startClock, stopClock } from '../lua/meter.ts'
import { addWait, type Called, cannotWait, createWait, failWait, takeOutcome } from '../lua/waits.ts'
import type { LuaThread, NativeFunction } from './api.ts'
import type { Core } from './core.ts'
import { raiseLimit } from './hook.ts'
import { pushValue, type PushTarget } from './push.ts'
import { readValue } from './read.ts'
import { messageText, pushText } from './text.ts'

/** Makes a host function callable from Lua: deep copies in and out, a wait when it returns a promise. */
export function hostCall(core: Core, definition: HostFunction): NativeFunction {
  return (thread) => {
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
}

function callAndPush(core: Core, definition: HostFunction, thread: LuaThread): Called {
  stopClock(core.meter)
  try {
    const result = callHost(core, definition, thread)
    return result.kind === 'values' ? pushResults(core, thread, result.values) : result
  } finally {
    startClock(core.meter)
  }
}

type HostResult =
  | { readonly kind: 'values'; readonly values: readonly LuaValue[] }
  | Extract<Called, { kind: 'failed' | 'waits' }>

/** No Lua function is called in here, so everything that is thrown is the host's. */
function callHost(core: Core, definition: HostFunction, thread: LuaThread): HostResult {
  try {
    const result = definition.call(readArguments(core, definition, thread))
    return result instanceof Promise ? { kind: 'waits', result } : { kind: 'values', values: result }
  } catch (error) {
    return { kind: 'failed', error }
  }
}

function readArguments(core: Core, { path, tables }: HostFunction, thread: LuaThread): readonly LuaValue[] {
  const { api, listMarker, nullValue } = core
  const source = { api, thread, reading: tables, listMarker, nullValue }
  return Array.from({ length: api.lua_gettop(thread) }, (_, index) => {
    try {
      return readValue(source, index + 1)
    } catch (error) {
      throw new LuaError(`bad argument #${index + 1} to '${path}' (${messageOf(error)})`)
    }
  })
}

/** Replaces the arguments on the stack by results. */
function pushResults(core: Core, thread: LuaThread, results: readonly LuaValue[]): Exclude<Called, { kind: 'waits' }> {
  const { api } = core
  try {
    api.lua_settop(thread, 0)
    if (!api.lua_checkstack(thread, results.length + 4)) throw new RangeError('too many results for Lua')
    for (const result of results) pushValue(targetOf(core, thread), result)
    return { kind: 'pushed', count: results.length }
  } catch (error) {
    // what is no Error is fengari's own jump
    if (error instanceof Error) return { kind: 'failed', error }
    throw error
  }
}

export function targetOf({ api, nullValue, references }: Core, thread: LuaThread): PushTarget {
  return {
    api,
    thread,
    nullValue,
    pushListMarker: (current) => {
      api.lua_rawgeti(current, registry, references.listMarker)
    },
  }
}

interface Waiting {
  readonly path: string
  readonly result: Promise<readonly LuaValue[]>
}

/** Yields to the driver (run.ts) until the promise settles; `goOn` then continues in the middle of the call. */
function wait(core: Core, thread: LuaThread, { path, result }: Waiting): number {
  const { api } = core
  const pending = createWait(path, result)
  if (!api.lua_isyieldable(thread)) return raise(core, thread, cannotWait(path))
  const id = addWait(core, pending)
  api.lua_settop(thread, 0)
  api.lua_pushlightuserdata(thread, core.waitMarker)
  api.lua_pushinteger(thread, id)
  return api.lua_yieldk(thread, 2, id, (resumed, _status, context) => goOn(core, resumed, context))
}

/** Continuation of a call that has waited: its values, or its error at the place of the call. */
function goOn(core: Core, thread: LuaThread, id: number): number {
  const outcome = takeOutcome(core, id)
  const finished = outcome.kind === 'values' ? pushResults(core, thread, outcome.values) : outcome
  return finished.kind === 'pushed' ? finished.count : raise(core, thread, finished.error)
}

/** `refuse(id)` of the prelude: this wait was begun in a coroutine that was resumed where nobody can wait. */
export function refuseWait(core: Core, thread: LuaThread): number {
  failWait(core, core.api.lua_tonumber(thread, 1))
  return core.limit === undefined ? 0 : raiseLimit(core, thread)
}

/**
 * Raises the error of a host function at the place of the call, as Lua's `error` would: a string with the position in
 * front. The error itself is kept, so that it is the `cause` when nobody catches the string.
 */
function raise(core: Core, thread: LuaThread, error: unknown): never {
  const { api } = core
  api.lua_settop(thread, 0)
  api.luaL_where(thread, 1)
  pushText(api, thread, messageOf(error))
  api.lua_concat(thread, 2)
  keepHostError(core.hostErrors, { text: messageText(api.lua_tolstring(thread, -1)), error })
  return api.lua_error(thread)
}
