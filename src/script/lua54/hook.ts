import { countMask } from '../lua/constants.ts'
import type { Limit } from '../lua/core.ts'
import { accounting } from './bridge-code.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import { positionOf } from './position.ts'

/** The event loop gets a turn after this much Lua, so that signals and timers are seen. */
const turnMs = 5
/** Instructions between two looks at the limits. */
export const hookInterval = 1_000

/**
 * The count hook. It notices limits, and stops the thread so that the event loop gets its turn. A thread at a limit is
 * stopped in the same way and never resumed, which no `pcall` can see (spec/lua-engines.md 6). Where a thread cannot stop
 * (inside a C function that calls back) the limit is an error, raised again at every instruction.
 * One long C call, such as a pathological pattern, runs no instructions and cannot be interrupted here: DESIGN 7 leaves
 * that to the isolated mode.
 */
export function onHook(core: Core, thread: Pointer): void {
  const { lua, pointers } = core.runtime.wasm
  core.meter.thousands++
  const now = performance.now()
  if (core.limit === undefined) reachLimit(core, thread, exceededLimit(core, now))
  const isTurnOver = now - core.meter.resumedAt >= turnMs || core.status !== 'open'
  if (core.limit === undefined && !isTurnOver) return
  if (core.limit !== undefined) lua.lua_sethook(thread, pointers.hook, countMask, 1)
  if (lua.lua_isyieldable(thread) !== 0) {
    core.paused.add(thread)
    lua.lua_yieldk(thread, 0, 0, 0)
    return
  }
  if (core.limit !== undefined) raiseLimit(core, thread)
}

/** Notes the limit and the line it was reached at, which a stopped thread no longer tells exactly. */
function reachLimit(core: Core, thread: Pointer, limit: Limit | undefined): void {
  core.limit = limit
  if (limit !== undefined) core.limitPosition = positionOf(core, thread)
}

/**
 * Ends the call in a thread that cannot stop because of a limit. Running out of memory is the one error that calls no message
 * handler: a handler called from here would run with hooks off, and an endless one could not be ended.
 */
export function raiseLimit({ runtime: { wasm }, accounting: record }: Core, thread: Pointer): never {
  wasm.write32(record + accounting.limit, 0)
  wasm.lua.lua_createtable(thread, 0, 0)
  throw new Error('Lua did not notice that its memory is used up')
}

function exceededLimit({ meter, options, runtime, accounting: record }: Core, now: number): Limit | undefined {
  const { limits } = options
  if (runtime.wasm.read32(record + accounting.exceeded) !== 0) return 'memory'
  if (meter.thousands > limits.instructions) return 'instructions'
  if (meter.usedMs + now - meter.startedAt > limits.timeMs) return 'time'
  return undefined
}
