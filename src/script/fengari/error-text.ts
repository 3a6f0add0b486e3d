import type { LuaValue } from '../engine.ts'
import { luaStatus, luaType, registry } from '../lua/constants.ts'
import { foreignErrorText, isAddressText, nilErrorText, valueErrorText } from '../lua/error-text.ts'
import type { LuaThread } from './api.ts'
import type { Core } from './core.ts'
import { enter } from './meter.ts'
import { readValue } from './read.ts'
import { messageText } from './text.ts'

/**
 * What the error value on top of a thread's stack says. Any Lua value can be raised, also nil and tables. The value is
 * taken to the main stack: the thread may have failed because its own is full.
 */
export function errorText(core: Core, thread: LuaThread): string {
  const { api, main } = core
  api.lua_checkstack(main, 20)
  api.lua_xmove(thread, main, 1)
  const text = textOf(core, main)
  api.lua_settop(main, -2)
  return text
}

function textOf(core: Core, thread: LuaThread): string {
  const { api } = core
  const type = api.lua_type(thread, -1)
  if (type === luaType.string) return messageText(api.lua_tolstring(thread, -1))
  if (type === luaType.nil) return nilErrorText
  if (type === luaType.table) return tableText(core, thread)
  return valueErrorText(readOrDescribe(core, thread))
}

/** What a table raised as an error says: its `__tostring`, else its `message` or `error` field, else all of it. */
function tableText(core: Core, thread: LuaThread): string {
  const { api } = core
  if (api.lua_getmetatable(thread, -1)) {
    api.lua_settop(thread, -2)
    api.lua_rawgeti(thread, registry, core.tostring)
    api.lua_pushvalue(thread, -2)
    const status = enter(core, () => api.lua_pcall(thread, 1, 1, 0))
    const text = status === luaStatus.ok ? messageText(api.lua_tolstring(thread, -1)) : ''
    api.lua_settop(thread, -2)
    if (status === luaStatus.ok && !isAddressText(text)) return text
  }
  return valueErrorText(readOrDescribe(core, thread))
}

function readOrDescribe({ api, listMarker, nullValue }: Core, thread: LuaThread): LuaValue {
  const top = api.lua_gettop(thread)
  try {
    return readValue({ api, thread, reading: 'data', listMarker, nullValue }, -1)
  } catch {
    // reading stops in the middle of tables, whose parts are still on the stack
    api.lua_settop(thread, top)
    return foreignErrorText(messageText(api.lua_typename(thread, api.lua_type(thread, -1))))
  }
}
