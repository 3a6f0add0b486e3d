import type { Thread } from './api.ts'
import type { Limit, LuaCore } from './core.ts'
import { positionOf, tracebackOf } from './positions.ts'

/** The event loop gets a turn after this much Lua time, so that signals and timers are processed. */
const turnMs = 5
/** Instructions between two calls of the hook. */
export const hookInterval = 1_000

/**
 * The count hook. It checks the limits and pauses the thread so that the event loop gets a turn. A thread at a limit is
 * paused in the same way and never resumed, which `pcall` cannot catch. If a thread cannot pause (inside a C function
 * that calls back), the limit becomes an error, raised again at every instruction. A long C call, such as a
 * pathological pattern, runs no instructions and cannot be interrupted here, only by the isolated engine.
 */
export function onHook(core: LuaCore, thread: Thread): void {
  const { api, meter } = core
  meter.thousands++
  const now = performance.now()
  const isTurnOver = now - meter.resumedAt >= turnMs || core.status !== 'open'
  const limit = core.limit ?? exceededLimit(core, { now, isTurnOver })
  if (limit === undefined && !isTurnOver) return
  if (limit !== undefined) {
    reachLimit(core, thread, limit)
    api.setHook(thread, 1)
  }
  if (api.lua_isyieldable(thread)) {
    core.paused.add(thread)
    api.yieldHook(thread)
  } else if (limit !== undefined) core.runtime.raiseLimit(core, thread)
}

/**
 * Records the first limit that is reached and the line, which is no longer known exactly once the thread is stopped.
 * The traceback is created when it is needed, unless it would be lost by then.
 */
export function reachLimit(core: LuaCore, thread: Thread, limit: Limit): void {
  if (core.limit !== undefined) return
  core.limit = limit
  const traceback = core.api.keepsFrames ? undefined : tracebackOf(core, thread)
  core.limitPlace = { position: positionOf(core, thread), traceback }
}

function exceededLimit(
  core: LuaCore,
  { now, isTurnOver }: { readonly now: number; readonly isTurnOver: boolean },
): Limit | undefined {
  const { meter, options, runtime } = core
  if (runtime.isMemoryUsedUp(core, { isTurnOver })) return 'memory'
  if (meter.thousands > options.limits.instructions) return 'instructions'
  return usedMs(core, now) > options.limits.timeMs ? 'time' : undefined
}

/**
 * Records that the time is up, if it is: after a host function, because the hook may not run for the few instructions
 * there.
 */
export function checkTime(core: LuaCore, thread: Thread): void {
  if (usedMs(core, performance.now()) > core.options.limits.timeMs) reachLimit(core, thread, 'time')
}

function usedMs({ meter }: LuaCore, now: number): number {
  return meter.usedMs + now - meter.startedAt
}

/** `paused(thread)` of the prelude. Raises the limit if a thread at a limit cannot yield to the driver. */
export function answerPaused(core: LuaCore, thread: Thread): number {
  const { api, paused, limit, runtime } = core
  const stopped = api.lua_tothread(thread, 1)
  const isPaused = stopped !== null && paused.delete(stopped)
  if (isPaused && limit !== undefined && !api.lua_isyieldable(thread)) return runtime.raiseLimit(core, thread)
  api.lua_pushboolean(thread, isPaused)
  return 1
}
