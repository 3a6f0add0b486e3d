import { messageOf } from '../../base/error.ts'
import { type HostFunction, LuaError, type LuaValue } from '../engine.ts'
import { registry } from '../lua/constants.ts'
import type { LuaThread, NativeFunction } from './api.ts'
import type { Core, Wait } from './core.ts'
import { raiseLimit } from './hook.ts'
import { startClock, stopClock } from './meter.ts'
import { pushValue, type PushTarget } from './push.ts'
import { readValue } from './read.ts'
import { messageText, pushText } from './text.ts'

/** Errors kept for finding the cause of an uncaught one; older ones have been handled by then. */
const keptErrors = 32

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

type Called =
  | { readonly kind: 'pushed'; readonly count: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'waits'; readonly result: Promise<readonly LuaValue[]> }

function callAndPush(core: Core, definition: HostFunction, thread: LuaThread): Called {
  stopClock(core)
  try {
    const result = callHost(core, definition, thread)
    return result.kind === 'values' ? pushResults(core, thread, result.values) : result
  } finally {
    startClock(core)
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
  if (!api.lua_isyieldable(thread)) return raise(core, thread, cannotWait(path))
  const id = core.nextWait++
  core.waits.set(id, pending)
  api.lua_settop(thread, 0)
  api.lua_pushlightuserdata(thread, core.waitMarker)
  api.lua_pushinteger(thread, id)
  return api.lua_yieldk(thread, 2, id, (resumed, _status, context) => goOn(core, resumed, context))
}

/** Continuation of a call that has waited: its values, or its error at the place of the call. */
function goOn(core: Core, thread: LuaThread, id: number): number {
  const waited = core.waits.get(id)
  core.waits.delete(id)
  const finished = waited === undefined ? undefined : pushOutcome(core, thread, waited)
  if (finished?.kind === 'pushed') return finished.count
  return raise(core, thread, finished === undefined ? new Error('a wait was resumed twice') : finished.error)
}

function pushOutcome(core: Core, thread: LuaThread, { path, outcome }: Wait): Exclude<Called, { kind: 'waits' }> {
  switch (outcome.kind) {
    case 'failed':
      return outcome
    case 'pending':
      return { kind: 'failed', error: new Error(`the coroutine was resumed while '${path}' was waiting in it`) }
    case 'values':
      return pushResults(core, thread, outcome.values)
  }
}

/** `refuse(id)` of the prelude: this wait was begun in a coroutine that was resumed where nobody can wait. */
export function refuseWait(core: Core, thread: LuaThread): number {
  const refused = core.waits.get(core.api.lua_tonumber(thread, 1))
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
function raise(core: Core, thread: LuaThread, error: unknown): never {
  const { api } = core
  api.lua_settop(thread, 0)
  api.luaL_where(thread, 1)
  pushText(api, thread, messageOf(error))
  api.lua_concat(thread, 2)
  core.hostErrors.push({ text: messageText(api.lua_tolstring(thread, -1)), error })
  if (core.hostErrors.length > keptErrors) core.hostErrors.shift()
  return api.lua_error(thread)
}
