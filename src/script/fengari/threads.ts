import type { LuaChunk, LuaValue } from '../engine.ts'
import { luaStatus, registry, registryGlobals } from '../lua/constants.ts'
import type { LuaThread } from './api.ts'
import { targetOf } from './calls.ts'
import type { Core } from './core.ts'
import { errorOf } from './errors.ts'
import { pushValue } from './push.ts'
import { encode, pushText } from './text.ts'

/** A Lua coroutine of the engine's own: every chunk runs in one, so that it can wait. */
export interface ChunkThread {
  readonly thread: LuaThread
  /** Name of the chunk. */
  readonly name: string
  /** Its key in the registry. */
  readonly reference: number
}

/** Makes a thread and loads a chunk into it. Throws `LuaError` for a syntax error. */
export function openThread(core: Core, chunk: LuaChunk): ChunkThread {
  const { api, main } = core
  api.lua_checkstack(main, 8)
  const thread = api.lua_newthread(main)
  markAsRun(core, true)
  const opened = { thread, name: chunk.name, reference: api.luaL_ref(main, registry) }
  const status = loadText(core, thread, chunk)
  if (status === luaStatus.ok) return opened
  const error = errorOf(core, opened, status)
  closeThread(core, opened)
  throw error
}

export function closeThread(core: Core, { thread, reference }: ChunkThread): void {
  const { api, main } = core
  core.paused.delete(thread)
  api.lua_rawgeti(main, registry, reference)
  markAsRun(core, false)
  api.lua_settop(main, -2)
  api.luaL_unref(main, registry, reference)
}

/**
 * Gives the loaded chunk its private environment: a copy of the globals, and the variables (spec/pro-coder.md 1.3, 3).
 * A variable that is null is nil; only nulls inside values are the sentinel.
 */
export function setEnvironment(
  core: Core,
  { thread }: ChunkThread,
  variables: { readonly [name: string]: LuaValue },
): void {
  const { api } = core
  api.lua_newtable(thread)
  const environment = api.lua_gettop(thread)
  copyGlobals(core, thread, environment)
  for (const [name, value] of Object.entries(variables)) {
    pushText(api, thread, name)
    pushValue(targetOf(core, thread), value ?? undefined)
    api.lua_rawset(thread, environment)
  }
  api.lua_setupvalue(thread, environment - 1, 1)
}

function copyGlobals({ api }: Core, thread: LuaThread, environment: number): void {
  api.lua_rawgeti(thread, registry, registryGlobals)
  api.lua_pushnil(thread)
  while (api.lua_next(thread, environment + 1) !== 0) {
    api.lua_pushvalue(thread, -2)
    api.lua_rotate(thread, -2, 1)
    api.lua_rawset(thread, environment)
  }
  api.lua_settop(thread, environment)
}

/** Only text: what binary chunks say is believed by the interpreter. */
function loadText({ api, names }: Core, thread: LuaThread, { name, text }: LuaChunk): number {
  const content = encode(text)
  return api.luaL_loadbufferx(thread, content, content.length, encode(`@${names.alias(name)}`), encode('t'))
}

/** Notes the thread on top of the main stack as one that is no coroutine of the script. */
function markAsRun({ api, main, references }: Core, isRun: boolean): void {
  api.lua_rawgeti(main, registry, references.runs)
  api.lua_pushvalue(main, -2)
  if (isRun) api.lua_pushboolean(main, true)
  else api.lua_pushnil(main)
  api.lua_rawset(main, -3)
  api.lua_settop(main, -2)
}
