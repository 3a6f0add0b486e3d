import { type HostFunction, LuaError, type LuaStateOptions } from '../engine.ts'
import { countMask, luaStatus, registry } from '../lua/constants.ts'
import type { References } from '../lua/core.ts'
import { createMeter } from '../lua/meter.ts'
import { createChunkNames } from '../lua/names.ts'
import { callHost, refuseWait } from './calls.ts'
import type { Core, Runtime } from './core.ts'
import type { Pointer } from './exports.ts'
import { hookInterval, raiseLimit } from './hook.ts'
import { installFunctions, pushNumbered } from './install.ts'
import { loadDumped } from './load.ts'
import { createAccounting } from './meter.ts'
import { nullAddress } from './push.ts'
import { openLibraries } from './runtime.ts'
import { readMessage } from './text.ts'

/** A fresh Lua state with the prelude run and the host functions in place; its modules have not run yet. */
export function openCore(runtime: Runtime, options: LuaStateOptions): Core {
  const { wasm } = runtime
  const accounting = createAccounting(wasm)
  const main = openLibraries(wasm, accounting)
  wasm.lua.lua_createtable(main, 0, 0)
  const listMarker = wasm.lua.lua_topointer(main, -1)
  const listReference = wasm.lua.luaL_ref(main, registry)
  wasm.lua.lua_createtable(main, 0, 0)
  const runs = wasm.lua.luaL_ref(main, registry)
  const references: References = { listMarker: listReference, runs }
  const core: Core = {
    runtime,
    options,
    main,
    accounting,
    names: createChunkNames(),
    meter: createMeter(),
    references,
    listMarker,
    waitMarker: wasm.cell,
    calls: [],
    waits: new Map(),
    hostErrors: [],
    interrupts: new Set(),
    tostring: 0,
    nextWait: 1,
    paused: new Set(),
    limit: undefined,
    limitPosition: undefined,
    depth: 0,
    status: 'open',
  }
  core.tostring = runPrelude(core)
  installFunctions(core)
  wasm.lua.lua_sethook(main, wasm.pointers.hook, countMask, hookInterval)
  return core
}

/** Gives the state's memory back. */
export function closeCore({ runtime: { wasm }, main, accounting }: Core): void {
  if (wasm.health.isBroken) return
  wasm.lua.lua_close(main)
  wasm.lua.free(accounting)
}

/** Runs the prelude with what it takes (lua/natives.ts). Returns the registry key of its `tostring`. */
function runPrelude(core: Core): number {
  const { runtime, main, references } = core
  const { lua, bridge } = runtime.wasm
  loadDumped(runtime.wasm, main, runtime.prelude)
  lua.lua_pushlightuserdata(main, nullAddress)
  bridge.getElement(main, registry, references.listMarker)
  lua.lua_pushlightuserdata(main, core.waitMarker)
  pushCall(core, (thread) => answerPaused(core, thread))
  pushCall(core, (thread) => refuseWait(core, thread))
  const seed: HostFunction = { path: 'seed', tables: 'data', call: () => [core.options.seed()] }
  pushCall(core, (thread) => callHost(core, seed, thread))
  lua.lua_pushcclosure(main, runtime.wasm.pointers.keys, 0)
  bridge.getElement(main, registry, references.runs)
  const status = lua.lua_pcallk(main, 8, 1, 0, 0, 0)
  if (status !== luaStatus.ok) throw new LuaError(`the prelude failed: ${readMessage(runtime.wasm, main, -1)}`)
  return lua.luaL_ref(main, registry)
}

/** `paused(thread)` of the prelude. Where a thread at a limit cannot be handed outward, the limit is raised here. */
function answerPaused(core: Core, thread: Pointer): number {
  const { lua } = core.runtime.wasm
  const isPaused = core.paused.delete(lua.lua_tothread(thread, 1))
  if (isPaused && core.limit !== undefined && lua.lua_isyieldable(thread) === 0) return raiseLimit(core, thread)
  lua.lua_pushboolean(thread, isPaused ? 1 : 0)
  return 1
}

/** Pushes a C function of the engine's own that does `call`. */
function pushCall({ runtime: { wasm }, main, calls }: Core, call: (thread: Pointer) => number): void {
  pushNumbered(wasm, main, -calls.push(call))
}
