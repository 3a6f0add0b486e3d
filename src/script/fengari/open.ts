import { messageOf } from '../../base/error.ts'
import { LuaError, type LuaStateOptions } from '../engine.ts'
import { luaStatus, luaType, registry, registryGlobals } from '../lua/constants.ts'
import { createMeter } from '../lua/meter.ts'
import { createChunkNames } from '../lua/names.ts'
import { createAccount } from './account.ts'
import type { Library, LuaApi, LuaThread, NativeFunction } from './api.ts'
import { hostCall, refuseWait } from './calls.ts'
import type { Core, Runtime } from './core.ts'
import { raiseLimit, reachLimit, watch } from './hook.ts'
import { externalMemory } from './memory.ts'
import { collectKeys, standardFunctions } from './standard.ts'
import { encode, messageText, pushText } from './text.ts'

/** A Lua state with the standard libraries that do not reach outside. */
export function openLibraries({ api, libraries }: Library): LuaThread {
  const main = api.luaL_newstate()
  if (main === null) throw new Error('fengari cannot make a state')
  for (const { name, open } of libraries) api.luaL_requiref(main, encode(name), open, true)
  api.lua_settop(main, 0)
  return main
}

/** A fresh Lua state with the prelude run and the host functions in place; its modules have not run yet. */
export function openCore(runtime: Runtime, options: LuaStateOptions): Core {
  const { api } = runtime.library
  const main = openLibraries(runtime.library)
  api.lua_newtable(main)
  const listMarker = api.lua_topointer(main, -1)
  const listReference = api.luaL_ref(main, registry)
  api.lua_newtable(main)
  const runs = api.luaL_ref(main, registry)
  const core: Core = {
    runtime,
    api,
    options,
    main,
    names: createChunkNames(),
    meter: createMeter(),
    references: { listMarker: listReference, runs },
    listMarker,
    nullValue: {},
    waitMarker: {},
    waits: new Map(),
    hostErrors: [],
    interrupts: new Set(),
    paused: new Set(),
    externalAtStart: externalMemory(),
    tostring: 0,
    nextWait: 1,
    limit: undefined,
    limitPlace: undefined,
    depth: 0,
    status: 'open',
  }
  api.lua_atnativeerror(main, (thread) => explain(core, thread))
  for (const [path, call] of Object.entries(standardFunctions(core))) install(api, main, { path, call })
  core.tostring = runPrelude(core)
  for (const definition of options.functions) {
    install(api, main, { path: definition.path, call: hostCall(core, definition) })
  }
  watch(core, main)
  main.l_G.account = createAccount(core)
  return core
}

/** Runs the prelude with what it takes (lua/natives.ts). Returns the registry key of its `tostring`. */
function runPrelude(core: Core): number {
  const { api, main, runtime, references } = core
  const { prelude } = runtime
  api.luaL_loadbufferx(main, prelude, prelude.length, encode('=?'), encode('b'))
  api.lua_pushlightuserdata(main, core.nullValue)
  api.lua_rawgeti(main, registry, references.listMarker)
  api.lua_pushlightuserdata(main, core.waitMarker)
  api.lua_pushcfunction(main, (thread) => answerPaused(core, thread))
  api.lua_pushcfunction(main, (thread) => refuseWait(core, thread))
  api.lua_pushcfunction(main, hostCall(core, { path: 'seed', tables: 'data', call: () => [core.options.seed()] }))
  api.lua_pushcfunction(main, (thread) => collectKeys(api, thread))
  api.lua_rawgeti(main, registry, references.runs)
  const status = api.lua_pcall(main, 8, 1, 0)
  if (status !== luaStatus.ok) throw new LuaError(`the prelude failed: ${messageText(api.lua_tolstring(main, -1))}`)
  return api.luaL_ref(main, registry)
}

/** `paused(thread)` of the prelude. Where a thread at a limit cannot be handed outward, the limit is raised here. */
function answerPaused(core: Core, thread: LuaThread): number {
  const { api, paused } = core
  const stopped = api.lua_tothread(thread, 1)
  const isPaused = stopped !== null && paused.delete(stopped)
  if (isPaused && core.limit !== undefined && !api.lua_isyieldable(thread)) return raiseLimit(core, thread)
  api.lua_pushboolean(thread, isPaused)
  return 1
}

/**
 * Turns an exception of JavaScript inside the interpreter into the text of a Lua error: without this it vanishes
 * (spec/lua-engines.md 5.2 row 12). What could not be allocated counts as the memory limit.
 */
function explain(core: Core, thread: LuaThread): number {
  const { api } = core
  const error = api.lua_touserdata(thread, 1)
  const isStack = error instanceof RangeError && error.message.includes('call stack')
  if (error instanceof RangeError && !isStack) {
    if (core.limit === undefined) reachLimit(core, thread, 'memory')
    return raiseLimit(core, thread)
  }
  api.luaL_where(thread, 1)
  pushText(api, thread, isStack ? 'stack overflow' : messageOf(error))
  api.lua_concat(thread, 2)
  return 1
}

interface Installed {
  /** From the globals; tables on the way are made when missing. */
  readonly path: string
  readonly call: NativeFunction
}

function install(api: LuaApi, main: LuaThread, { path, call }: Installed): void {
  const steps = path.split('.')
  const name = steps.pop() ?? ''
  api.lua_rawgeti(main, registry, registryGlobals)
  for (const step of steps) enterTable(api, main, step)
  pushText(api, main, name)
  api.lua_pushcfunction(main, call)
  api.lua_rawset(main, -3)
  api.lua_settop(main, 0)
}

/** Pushes the table in the field `name` of the table on top, making it when there is none. */
function enterTable(api: LuaApi, thread: LuaThread, name: string): void {
  api.lua_checkstack(thread, 4)
  pushText(api, thread, name)
  if (api.lua_rawget(thread, -2) === luaType.table) return
  api.lua_settop(thread, -2)
  api.lua_newtable(thread)
  pushText(api, thread, name)
  api.lua_pushvalue(thread, -2)
  api.lua_rawset(thread, -4)
}
