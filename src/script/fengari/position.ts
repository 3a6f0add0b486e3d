import { cleanTraceback, deepestFrame, type Frame, innermost, type Position } from '../lua/position.ts'
import type { LuaThread } from './api.ts'
import type { Core } from './core.ts'
import { encode, messageText } from './text.ts'

const wanted = encode('Sl')

/** The Lua functions on a thread's stack that have line numbers, innermost first. */
export function framesOf({ api, names }: Core, thread: LuaThread): readonly Frame[] {
  const record = new api.lua_Debug()
  const frames: Frame[] = []
  for (let level = 0; level < deepestFrame && api.lua_getstack(thread, level, record) !== 0; level++) {
    api.lua_getinfo(thread, wanted, record)
    if (!(record.currentline > 0)) continue
    const source = messageText(record.short_src)
    frames.push({ source, chunk: names.original(source), line: record.currentline })
  }
  return frames
}

/**
 * Lua's traceback without the frames of the prelude, which has no line information. It is made on the main stack: the
 * thread may have failed because its own is full.
 */
export function tracebackOf({ api, main, names }: Core, thread: LuaThread): string {
  api.lua_checkstack(main, 20)
  api.luaL_traceback(main, thread, null, 0)
  const text = messageText(api.lua_tolstring(main, -1))
  api.lua_settop(main, -2)
  return cleanTraceback(names, text)
}

/** The line a thread is at, when it runs Lua. */
export function positionOf(core: Core, thread: LuaThread): Position | undefined {
  return innermost(framesOf(core, thread))
}
