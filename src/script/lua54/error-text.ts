import type { LuaValue } from '../engine.ts'
import { luaStatus, luaType, registry } from '../lua/constants.ts'
import { foreignErrorText, isAddressText, nilErrorText, valueErrorText } from '../lua/error-text.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import { enter } from './meter.ts'
import { readValue } from './read.ts'
import { readConstant, readMessage } from './text.ts'

/**
 * What the error value on top of a thread's stack says. Any Lua value can be raised, also nil and tables. The value is
 * taken to the main stack: the thread may have failed because its own is full.
 */
export function errorText(core: Core, thread: Pointer): string {
  const { lua } = core.runtime.wasm
  lua.lua_checkstack(core.main, 20)
  lua.lua_xmove(thread, core.main, 1)
  const text = textOf(core, core.main)
  lua.lua_settop(core.main, -2)
  return text
}

function textOf(core: Core, thread: Pointer): string {
  const { wasm } = core.runtime
  const type = wasm.lua.lua_type(thread, -1)
  if (type === luaType.string) return readMessage(wasm, thread, -1)
  if (type === luaType.nil) return nilErrorText
  if (type === luaType.table) return tableText(core, thread)
  return valueErrorText(readOrDescribe(core, thread))
}

/** What a table raised as an error says: its `__tostring`, else its `message` or `error` field, else all of it. */
function tableText(core: Core, thread: Pointer): string {
  const { wasm } = core.runtime
  const { lua } = wasm
  if (lua.lua_getmetatable(thread, -1) !== 0) {
    lua.lua_settop(thread, -2)
    wasm.bridge.getElement(thread, registry, core.tostring)
    lua.lua_pushvalue(thread, -2)
    const status = enter(core, () => lua.lua_pcallk(thread, 1, 1, 0, 0, 0))
    const text = readMessage(wasm, thread, -1)
    lua.lua_settop(thread, -2)
    if (status === luaStatus.ok && !isAddressText(text)) return text
  }
  return valueErrorText(readOrDescribe(core, thread))
}

function readOrDescribe(core: Core, thread: Pointer): LuaValue {
  const { wasm } = core.runtime
  try {
    return readValue({ wasm, thread, reading: 'data', listMarker: core.listMarker }, -1)
  } catch {
    const type = wasm.lua.lua_type(thread, -1)
    return foreignErrorText(readConstant(wasm, wasm.lua.lua_typename(thread, type)))
  }
}
