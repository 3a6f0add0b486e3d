import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../base/error.ts'
import { type HostFunction, limitOf, LuaError, type LuaValue } from '../engine.ts'
import type { Thread } from './api.ts'
import type { LuaCore } from './core.ts'
import { answerPaused, checkTime, reachLimit } from './limits.ts'
import { pushValue, readSource, readValue } from './values.ts'

type Failed = { readonly kind: 'failed'; readonly error: unknown }
type Settled = { readonly kind: 'values'; readonly values: readonly LuaValue[] } | Failed

/** A host function that has returned a promise, and its outcome. */
export interface Wait {
  readonly path: string
  /** Never rejects. */
  readonly settled: Promise<void>
  outcome: { readonly kind: 'pending' } | Settled
}

/** An error of a host function as Lua saw it. */
export interface HostError {
  readonly text: string
  readonly error: unknown
}

/** The event loop gets a turn when a host function returns to the script after at least this time. */
const longTurnMs = 50

/** Errors kept to find the cause of an uncaught one; scripts have handled older ones by then. */
const keptErrors = 32

/** Numbers of the functions that the prelude takes from the engine. */
export const ownCalls = { paused: -1, refuse: -2, seed: -3 } as const

/**
 * Body of every C function of ours: `number` is one of `ownCalls`, or the index of a host function in the state's list.
 */
export function callByNumber(core: LuaCore, thread: Thread, number: number): number {
  const { functions, seed } = core.options
  if (number === ownCalls.paused) return answerPaused(core, thread)
  if (number === ownCalls.refuse) return refuseWait(core, thread)
  if (number === ownCalls.seed) return callHost(core, thread, { path: 'seed', tables: 'data', call: () => [seed()] })
  const definition = functions[number]
  return definition === undefined ? 0 : callHost(core, thread, definition)
}

/**
 * Calls a host function from Lua: values are deep-copied in and out, and the call waits if the function returns a
 * promise.
 */
function callHost(core: LuaCore, thread: Thread, definition: HostFunction): number {
  if (core.limit !== undefined) return core.runtime.raiseLimit(core, thread)
  const called = callAndPush(core, thread, definition)
  switch (called.kind) {
    case 'pushed':
      return called.count
    case 'failed':
      return raise(core, thread, called.error)
    case 'limited':
      return core.runtime.raiseLimit(core, thread)
    case 'waits':
      return wait(core, thread, createWait(definition.path, called.result))
  }
}

type Called =
  | { readonly kind: 'pushed'; readonly count: number }
  | { readonly kind: 'waits'; readonly result: Promise<readonly LuaValue[]> }
  | { readonly kind: 'limited' }
  | Failed

/**
 * The synchronous part of a host function counts as the script's time, like Lua code. After a long one the event loop
 * gets a turn before the script continues: only a few instructions may follow, so the hook might run late.
 */
function callAndPush(core: LuaCore, thread: Thread, definition: HostFunction): Called {
  try {
    const result = definition.call(readArguments(core, thread, definition))
    if (result instanceof Promise) return { kind: 'waits', result }
    if (!core.canPause || performance.now() - core.meter.resumedAt < longTurnMs) {
      return { kind: 'pushed', count: pushResults(core, thread, result) }
    }
    checkTime(core, thread)
    if (core.api.lua_isyieldable(thread)) return { kind: 'waits', result: nextTurn(result) }
    return core.limit === undefined ? { kind: 'pushed', count: pushResults(core, thread, result) } : { kind: 'limited' }
  } catch (error) {
    if (core.api.isJump(thread, error)) throw error
    const limit = limitOf(error)
    if (limit === undefined) return { kind: 'failed', error }
    // like a limit that the engine itself finds: no pcall sees it
    reachLimit(core, thread, limit)
    return core.api.lua_isyieldable(thread) ? { kind: 'waits', result: nextTurn([]) } : { kind: 'limited' }
  }
}

function readArguments(core: LuaCore, thread: Thread, { path, tables }: HostFunction): readonly LuaValue[] {
  const source = readSource(core, thread, tables)
  return Array.from({ length: core.api.lua_gettop(thread) }, (_, index) => {
    try {
      return readValue(source, index + 1)
    } catch (error) {
      throw new LuaError(`bad argument #${index + 1} to '${path}' (${messageOf(error)})`)
    }
  })
}

/** Replaces the arguments on the stack by results, and returns their number. */
function pushResults(core: LuaCore, thread: Thread, results: readonly LuaValue[]): number {
  const { api } = core
  api.lua_settop(thread, 0)
  if (!api.lua_checkstack(thread, results.length + 4)) throw new Error('too many results for Lua')
  for (const result of results) pushValue(core, thread, result)
  return results.length
}

function createWait(path: string, result: Promise<readonly LuaValue[]>): Wait {
  const wait: Wait = {
    path,
    outcome: { kind: 'pending' },
    settled: result.then(
      (values) => {
        wait.outcome = { kind: 'values', values }
      },
      (error: unknown) => {
        wait.outcome = { kind: 'failed', error }
      },
    ),
  }
  return wait
}

/** Yields to the driver (run.ts) until the promise settles; `continueCall` then resumes the call where it stopped. */
function wait(core: LuaCore, thread: Thread, pending: Wait): number {
  const { api, waits } = core
  if (!api.lua_isyieldable(thread)) return raise(core, thread, cannotWait(pending.path))
  const id = core.nextWait++
  waits.set(id, pending)
  api.lua_settop(thread, 0)
  api.lua_pushlightuserdata(thread, api.waitMarker)
  api.lua_pushnumber(thread, id)
  return api.yieldCall(thread, id)
}

/** Continuation of a call that has waited: returns its values, or raises its error at the place of the call. */
export function continueCall(core: LuaCore, thread: Thread, id: number): number {
  const settled = takeSettled(core, id)
  if (settled.kind === 'failed') return raise(core, thread, settled.error)
  try {
    return pushResults(core, thread, settled.values)
  } catch (error) {
    if (core.api.isJump(thread, error)) throw error
    return raise(core, thread, error)
  }
}

/** Ends a wait. If a script resumes the coroutine itself before the promise has settled, the call fails. */
function takeSettled({ waits }: LuaCore, id: number): Settled {
  const waited = waits.get(id)
  waits.delete(id)
  if (waited === undefined) return { kind: 'failed', error: new Error('a wait was resumed twice') }
  const { path, outcome } = waited
  if (outcome.kind !== 'pending') return outcome
  return { kind: 'failed', error: new Error(`the coroutine was resumed while '${path}' was waiting in it`) }
}

/** `refuse(id)` of the prelude: makes the wait fail, because its coroutine was resumed where waiting is impossible. */
function refuseWait(core: LuaCore, thread: Thread): number {
  const refused = core.waits.get(core.api.lua_tonumber(thread, 1))
  if (refused !== undefined) refused.outcome = { kind: 'failed', error: cannotWait(refused.path) }
  return core.limit === undefined ? 0 : core.runtime.raiseLimit(core, thread)
}

function cannotWait(path: string): Error {
  return new Error(`'${path}' has to wait for its result, which is not possible inside this callback`)
}

/**
 * Raises the error of a host function at the place of the call, as Lua's `error` would: a string prefixed with the
 * position. The error itself is kept and becomes the `cause` if nobody catches the string.
 */
function raise({ api, hostErrors }: LuaCore, thread: Thread, error: unknown): number {
  api.lua_settop(thread, 0)
  api.luaL_where(thread, 1)
  api.pushText(thread, messageOf(error))
  api.lua_concat(thread, 2)
  hostErrors.push({ text: api.readMessage(thread, -1), error })
  if (hostErrors.length > keptErrors) hostErrors.shift()
  return api.lua_error(thread)
}
