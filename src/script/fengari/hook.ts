import { countMask, luaStatus } from '../lua/constants.ts'
import type { Limit } from '../lua/core.ts'
import type { LuaThread } from './api.ts'
import type { Core } from './core.ts'
import { isMemoryShort } from './memory.ts'
import { positionOf, tracebackOf } from './position.ts'

/** The event loop gets a turn after this much Lua, so that signals and timers are seen. */
const turnMs = 5
/** Instructions between two looks at the limits. */
const interval = 1_000

/** Makes a thread look at the limits while it runs; threads made from it do as well. */
export function watch(core: Core, thread: LuaThread, instructions = interval): void {
  core.api.lua_sethook(thread, (running) => onHook(core, running), countMask, instructions)
}

/**
 * The count hook. It notices limits, and stops the thread so that the event loop gets its turn. A thread at a limit is
 * stopped in the same way and never resumed, which no `pcall` can see (spec/lua-engines.md 6). Where a thread cannot stop
 * (inside a native function that calls back) the limit is an error, raised again at every instruction.
 * One long native call, such as a pathological pattern, runs no instructions and cannot be interrupted here: DESIGN 7
 * leaves that to the isolated mode.
 */
function onHook(core: Core, thread: LuaThread): void {
  const { api, meter } = core
  meter.thousands++
  const now = performance.now()
  const isTurnOver = now - meter.resumedAt >= turnMs || core.status !== 'open'
  if (core.limit === undefined) reachLimit(core, thread, exceededLimit(core, { now, isTurnOver }))
  if (core.limit === undefined && !isTurnOver) return
  if (core.limit !== undefined) watch(core, thread, 1)
  if (api.lua_isyieldable(thread)) {
    core.paused.add(thread)
    api.lua_yieldk(thread, 0, 0, null)
    return
  }
  if (core.limit !== undefined) raiseLimit(core, thread)
}

/** Notes the limit and where it was reached. */
export function reachLimit(core: Core, thread: LuaThread, limit: Limit | undefined): void {
  core.limit = limit
  if (limit !== undefined) {
    core.limitPlace = { position: positionOf(core, thread), traceback: tracebackOf(core, thread) }
  }
}

/**
 * Ends the call in a thread that cannot stop because of a limit. Running out of memory is the one error that calls no message
 * handler: a handler called from here would run with hooks off, and an endless one could not be ended.
 */
export function raiseLimit(core: Core, thread: LuaThread): never {
  watch(core, thread, 1)
  return core.api.luaD_throw(thread, luaStatus.memoryError)
}

interface Moment {
  readonly now: number
  readonly isTurnOver: boolean
}

function exceededLimit(core: Core, { now, isTurnOver }: Moment): Limit | undefined {
  const { meter, options } = core
  if (meter.thousands > options.limits.instructions) return 'instructions'
  if (meter.usedMs + now - meter.startedAt > options.limits.timeMs) return 'time'
  return isTurnOver && isMemoryShort(core) ? 'memory' : undefined
}
