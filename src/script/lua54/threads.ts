import type { LuaChunk, LuaValue } from '../engine.ts'
import { luaStatus, registry, registryGlobals } from '../lua/constants.ts'
import { listMarkerOf } from './calls.ts'
import type { Core } from './core.ts'
import { errorOf } from './errors.ts'
import type { Pointer } from './exports.ts'
import { loadText } from './load.ts'
import { pushValue } from './push.ts'
import { pushText } from './text.ts'

/** A Lua coroutine of the engine's own: every chunk runs in one, so that it can wait. */
export interface ChunkThread {
  readonly pointer: Pointer
  /** Name of the chunk. */
  readonly name: string
  /** Its key in the registry, which keeps it alive. */
  readonly reference: number
}

/** Pushes the main function of a chunk, or the error. Returns `luaStatus`. */
type Loader = (core: Core, thread: Pointer, chunk: LuaChunk) => number

/** Makes a thread and loads a chunk into it with `load`. Throws `LuaError` for a syntax error. */
export function openThread(core: Core, chunk: LuaChunk, load: Loader): ChunkThread {
  const { lua } = core.runtime.wasm
  const pointer = lua.lua_newthread(core.main)
  markAsRun(core, true)
  const thread = { pointer, name: chunk.name, reference: lua.luaL_ref(core.main, registry) }
  const status = load(core, pointer, chunk)
  if (status === luaStatus.ok) return thread
  const error = errorOf(core, thread, status)
  closeThread(core, thread)
  throw error
}

export function closeThread(core: Core, { reference }: ChunkThread): void {
  const { lua, bridge } = core.runtime.wasm
  if (core.status === 'closed' || core.runtime.wasm.health.isBroken) return
  bridge.getElement(core.main, registry, reference)
  markAsRun(core, false)
  lua.lua_settop(core.main, -2)
  lua.luaL_unref(core.main, registry, reference)
}

/**
 * Gives the loaded chunk its private environment: a copy of the globals, and the variables (spec/pro-coder.md 1.3, 3).
 * A variable that is null is nil; only nulls inside values are the sentinel.
 */
export function setEnvironment(
  core: Core,
  { pointer }: ChunkThread,
  variables: { readonly [name: string]: LuaValue },
): void {
  const { wasm } = core.runtime
  const { lua } = wasm
  lua.lua_createtable(pointer, 0, 64)
  const environment = lua.lua_gettop(pointer)
  copyGlobals(core, pointer, environment)
  for (const [name, value] of Object.entries(variables)) {
    pushText(wasm, pointer, name)
    pushValue({ wasm, thread: pointer, pushListMarker: listMarkerOf(core) }, value ?? undefined)
    lua.lua_rawset(pointer, environment)
  }
  lua.lua_setupvalue(pointer, environment - 1, 1)
}

function copyGlobals({ runtime: { wasm } }: Core, thread: Pointer, environment: number): void {
  const { lua } = wasm
  wasm.bridge.getElement(thread, registry, registryGlobals)
  lua.lua_pushnil(thread)
  while (lua.lua_next(thread, environment + 1) !== 0) {
    lua.lua_pushvalue(thread, -2)
    lua.lua_rotate(thread, -2, 1)
    lua.lua_rawset(thread, environment)
  }
  lua.lua_settop(thread, environment)
}

/** Compiles a chunk of a script. Only text: crafted binary chunks can corrupt the memory of Lua. */
export function loadScript({ runtime, names }: Core, thread: Pointer, { name, text }: LuaChunk): number {
  return loadText(runtime.wasm, thread, { name: `@${names.alias(name)}`, text })
}

/** Notes the thread on top of the main stack as one that is no coroutine of the script. */
function markAsRun({ runtime: { wasm }, main, references }: Core, isRun: boolean): void {
  const { lua, bridge } = wasm
  bridge.getElement(main, registry, references.runs)
  lua.lua_pushvalue(main, -2)
  if (isRun) lua.lua_pushboolean(main, 1)
  else lua.lua_pushnil(main)
  lua.lua_rawset(main, -3)
  lua.lua_settop(main, -2)
}
