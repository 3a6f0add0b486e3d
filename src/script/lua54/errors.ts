import { LuaError, type LuaErrorDetails, type LuaValue } from '../engine.ts'
import type { Core } from './core.ts'
import { type Pointer, luaStatus, luaType, registry } from './exports.ts'
import { enter, limitMessage } from './meter.ts'
import { readValue } from './read.ts'
import { readConstant, readMessage } from './text.ts'

/** Offsets in `lua_Debug` of Lua 5.4 with 32-bit pointers. */
const debugRecord = { currentLine: 24, shortSource: 44 } as const
const deepestFrame = 50

interface Position {
  readonly chunk: string
  readonly line: number
}

/** The error on top of a thread's stack as a `LuaError`; `status` is what loading or resuming the thread returned. */
export function errorOf(core: Core, thread: Pointer, status: number): LuaError {
  if (status === luaStatus.memoryError) core.limit ??= 'memory'
  if (core.limit !== undefined) return limitError(core, thread)
  const frames = framesOf(core, thread)
  const traceback = frames.length === 0 ? {} : { traceback: tracebackOf(core, thread) }
  const text = textOf(core, thread)
  const cause = causeOf(core, text)
  const { message, position } = splitPosition(core, text, frames)
  return new LuaError(core.names.restore(message), {
    ...position,
    ...traceback,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** The error for a thread that has reached a limit, with the line it was at. */
export function limitError(core: Core, thread: Pointer): LuaError {
  const place = placeOf(core, thread)
  return new LuaError(limitMessage(core), core.limit === undefined ? place : { ...place, limit: core.limit })
}

/** An error of the engine's own, placed at the line a thread is at. */
export function errorAt(core: Core, thread: Pointer, message: string): LuaError {
  return new LuaError(message, placeOf(core, thread))
}

function placeOf(core: Core, thread: Pointer): LuaErrorDetails {
  const [frame] = framesOf(core, thread)
  if (frame === undefined) return {}
  return { chunk: frame.chunk, line: frame.line, traceback: tracebackOf(core, thread) }
}

function textOf(core: Core, thread: Pointer): string {
  const { wasm } = core.runtime
  const type = wasm.lua.lua_type(thread, -1)
  if (type === luaType.string) return readMessage(wasm, thread, -1)
  if (type === luaType.nil) return 'the script raised an error without a message (nil)'
  if (type === luaType.table) return tableText(core, thread)
  const value = readOrDescribe(core, thread)
  return typeof value === 'string' ? value : dump(value)
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
    if (status === luaStatus.ok && !/^table: 0x/.test(text)) return text
  }
  const value = readOrDescribe(core, thread)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { message, error } = value as { readonly [key: string]: LuaValue }
    if (typeof message === 'string') return message
    if (typeof error === 'string') return error
  }
  return typeof value === 'string' ? value : dump(value)
}

function readOrDescribe(core: Core, thread: Pointer): LuaValue {
  const { wasm } = core.runtime
  try {
    return readValue({ wasm, thread, reading: 'data', listMarker: core.listMarker }, -1)
  } catch {
    const type = wasm.lua.lua_type(thread, -1)
    return `the script raised a ${readConstant(wasm, wasm.lua.lua_typename(thread, type))} as an error`
  }
}

function dump(value: LuaValue): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return String(item)
    return item instanceof Uint8Array ? Buffer.from(item).toString('latin1') : item
  })
}

/** Host errors are strings in Lua; one that was raised again, with more text in front, is still found. */
function causeOf({ hostErrors }: Core, text: string): unknown {
  return hostErrors.findLast((known) => text.endsWith(known.text))?.error
}

interface Split {
  readonly message: string
  readonly position: Partial<Position>
}

/** Takes `chunk:line:` off the front of a message; without one the position is the line that raised the error. */
function splitPosition({ names }: Core, text: string, frames: readonly Frame[]): Split {
  const loaded = /^\[string ".*?"\](?=:)/s.exec(text)
  const sources = new Set([...frames.map(({ source }) => source), ...names.aliases(), ...(loaded ?? [])])
  for (const source of [...sources].toSorted((left, right) => right.length - left.length)) {
    if (!text.startsWith(`${source}:`)) continue
    const [prefix, line] = /^(\d+): ?/.exec(text.slice(source.length + 1)) ?? []
    if (prefix === undefined) continue
    const position = { chunk: names.original(source), line: Number(line) }
    return { message: text.slice(source.length + 1 + prefix.length), position }
  }
  const [raised] = frames
  return { message: text, position: raised === undefined ? {} : { chunk: raised.chunk, line: raised.line } }
}

interface Frame extends Position {
  /** The chunk as Lua shows it. */
  readonly source: string
}

/** The Lua functions on a thread's stack that have line numbers, innermost first. */
function framesOf({ runtime: { wasm }, names }: Core, thread: Pointer): readonly Frame[] {
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

/** Lua's traceback without the frames of the prelude, which has no line information. */
function tracebackOf({ runtime: { wasm }, names }: Core, thread: Pointer): string {
  wasm.lua.luaL_traceback(thread, thread, 0, 0)
  const text = readMessage(wasm, thread, -1)
  wasm.lua.lua_settop(thread, -2)
  const lines = text.split('\n').filter((line) => !line.startsWith('\t?: in '))
  return names.restore(lines.join('\n'))
}
