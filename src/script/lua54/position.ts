import { cleanTraceback, deepestFrame, type Frame, innermost, type Position } from '../lua/position.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import { readConstant, readMessage } from './text.ts'

/** Offsets in `lua_Debug` of Lua 5.4 with 32-bit pointers. */
const debugRecord = { currentLine: 24, shortSource: 44 } as const

/** The Lua functions on a thread's stack that have line numbers, innermost first. */
export function framesOf({ runtime: { wasm }, names }: Core, thread: Pointer): readonly Frame[] {
  const { lua, scratch } = wasm
  const record = scratch.address
  const frames: Frame[] = []
  for (let level = 0; level < deepestFrame && lua.lua_getstack(thread, level, record) !== 0; level++) {
    lua.lua_getinfo(thread, wasm.constant('Sl'), record)
    const line = wasm.read32(record + debugRecord.currentLine)
    if (line <= 0) continue
    const source = readConstant(wasm, record + debugRecord.shortSource)
    frames.push({ source, chunk: names.original(source), line })
  }
  return frames
}

/**
 * Lua's traceback without the frames of the prelude, which has no line information. It is made on the main stack: the
 * thread may have failed because its own is full.
 */
export function tracebackOf({ runtime: { wasm }, main, names }: Core, thread: Pointer): string {
  wasm.lua.lua_checkstack(main, 20)
  wasm.lua.luaL_traceback(main, thread, 0, 0)
  const text = readMessage(wasm, main, -1)
  wasm.lua.lua_settop(main, -2)
  return cleanTraceback(names, text)
}

/** The line a thread is at, when it runs Lua. */
export function positionOf(core: Core, thread: Pointer): Position | undefined {
  return innermost(framesOf(core, thread))
}
