import { type HostFunction, LuaError, type LuaStateOptions } from '../engine.ts'
import { hostCall, refuseWait } from './calls.ts'
import type { Core, References, Runtime } from './core.ts'
import { countMask, luaStatus, luaType, type Pointer, registry, registryGlobals } from './exports.ts'
import { hookInterval, raiseLimit } from './hook.ts'
import { createAccounting, createMeter } from './meter.ts'
import { createChunkNames } from './names.ts'
import { nullAddress } from './push.ts'
import { openLibraries } from './runtime.ts'
import { pushText, readMessage, withBlock } from './text.ts'
import type { LuaWasm } from './wasm.ts'

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
  for (const definition of options.functions) install(core, definition)
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
  const { lua, bridge, constant } = runtime.wasm
  withBlock(runtime.wasm, runtime.prelude, (block) =>
    lua.luaL_loadbufferx(main, block, runtime.prelude.length, constant('=?'), constant('b')),
  )
  lua.lua_pushlightuserdata(main, nullAddress)
  bridge.getElement(main, registry, references.listMarker)
  lua.lua_pushlightuserdata(main, core.waitMarker)
  pushCall(core, (thread) => answerPaused(core, thread))
  pushCall(core, (thread) => refuseWait(core, thread))
  pushCall(core, hostCall(core, { path: 'seed', tables: 'data', call: () => [core.options.seed()] }))
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

/** Puts a host function at its path from the globals, making the tables on the way. */
function install(core: Core, definition: HostFunction): void {
  const { runtime, main } = core
  const { lua, bridge } = runtime.wasm
  const steps = definition.path.split('.')
  const name = steps.pop() ?? ''
  bridge.getElement(main, registry, registryGlobals)
  for (const step of steps) enterTable(runtime.wasm, main, step)
  pushText(runtime.wasm, main, name)
  pushCall(core, hostCall(core, definition))
  lua.lua_rawset(main, -3)
  lua.lua_settop(main, 0)
}

/** Pushes the table in the field `name` of the table on top, making it when there is none. */
function enterTable(wasm: LuaWasm, thread: Pointer, name: string): void {
  const { lua } = wasm
  pushText(wasm, thread, name)
  if (lua.lua_rawget(thread, -2) === luaType.table) return
  lua.lua_settop(thread, -2)
  lua.lua_createtable(thread, 0, 0)
  pushText(wasm, thread, name)
  lua.lua_pushvalue(thread, -2)
  lua.lua_rawset(thread, -4)
}

/** Pushes a C function that does `call`. */
function pushCall({ runtime: { wasm }, main, calls }: Core, call: (thread: Pointer) => number): void {
  wasm.bridge.pushInteger(main, calls.push(call) - 1)
  wasm.lua.lua_pushcclosure(main, wasm.pointers.call, 1)
}
