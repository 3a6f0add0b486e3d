import { countMask, type LuaApi, type NamedText, type Thread } from '../lua/api.ts'
import { decode, messageText, shortText } from '../lua/text.ts'
import { longJump, type LuaWasm } from './wasm.ts'
import type { Pointer } from './webassembly.ts'

/** Offsets in `lua_Debug` of Lua 5.4 with 32-bit pointers. */
const debugRecord = { currentLine: 24, shortSource: 44 } as const
/** The null sentinel is the light userdata with this address. */
const nullAddress = 0

/**
 * The C API of Lua in WebAssembly. The path of values is optimized for speed: numbers and table elements use the
 * bridge, which needs no BigInt, and text uses one buffer.
 */
export function createApi(wasm: LuaWasm): LuaApi {
  const { lua, bridge, pointers, cell, scratch, constant } = wasm
  return {
    ...lua,
    nullValue: nullAddress,
    waitMarker: cell,
    keepsFrames: true,
    lua_pcall: (thread, argumentCount, resultCount) => lua.lua_pcallk(thread, argumentCount, resultCount, 0, 0, 0),
    lua_rawgeti: bridge.getElement,
    lua_rawlen: bridge.rawLength,
    lua_rawseti: bridge.setElement,
    lua_resume: (thread) => lua.lua_resume(thread, 0, 0, cell),
    lua_tonumber: (thread, index) => lua.lua_tonumberx(thread, index, 0),
    pushText: (thread, text) => pushText(wasm, thread, text),
    pushName(thread, name) {
      const { address, length } = constant(name)
      lua.lua_pushlstring(thread, address, length)
    },
    readText: (thread, index) => readText(wasm, thread, index),
    readMessage: (thread, index) => readMessage(wasm, thread, index),
    typeName: (thread, type) => readConstant(wasm, lua.lua_typename(thread, type)),
    pushNumber(thread, value) {
      if (typeof value === 'bigint') return pushBigint(wasm, thread, value)
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) return bridge.pushInteger(thread, value)
      lua.lua_pushnumber(thread, value)
    },
    readNumber(thread, index) {
      const value = lua.lua_tonumberx(thread, index, 0)
      if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value
      return lua.lua_isinteger(thread, index) ? lua.lua_tointegerx(thread, index, 0) : value
    },
    pushCall(thread, number) {
      bridge.pushInteger(thread, number)
      lua.lua_pushcclosure(thread, pointers.call, 1)
    },
    pushKeys: (thread) => lua.lua_pushcclosure(thread, pointers.keys, 0),
    yieldCall: (thread, id) => lua.lua_yieldk(thread, 2, id, pointers.resumed),
    yieldHook(thread) {
      lua.lua_yieldk(thread, 0, 0, 0)
    },
    setHook: (thread, instructions) => lua.lua_sethook(thread, pointers.hook, countMask, instructions),
    isJump: (_thread, error) => error === longJump,
    loadText: (thread, chunk) => loadText(wasm, thread, chunk),
    loadDumped: (thread, code) =>
      withBlock(wasm, code, (block) =>
        lua.luaL_loadbufferx(thread, block, code.length, constant('=?').address, constant('b').address),
      ),
    dump(thread, { lines }) {
      const status = lua.lua_dump(thread, pointers.write, 0, lines === 'keep' ? 0 : 1)
      if (status !== 0) throw new Error('Lua cannot dump this function')
      return Uint8Array.from(wasm.dumped.splice(0))
    },
    frameAt(thread, level) {
      const record = scratch.address
      if (lua.lua_getstack(thread, level, record) === 0) return undefined
      lua.lua_getinfo(thread, constant('Sl').address, record)
      const line = wasm.read32(record + debugRecord.currentLine)
      return { source: readConstant(wasm, record + debugRecord.shortSource), line }
    },
    pushTraceback: (target, thread) => lua.luaL_traceback(target, thread, 0, 0),
  }
}

/** Integers of 64 bits stay exact; larger ones Lua itself would read as floats. */
function pushBigint({ lua }: LuaWasm, thread: Thread, value: bigint): void {
  if (BigInt.asIntN(64, value) === value) lua.lua_pushinteger(thread, value)
  else lua.lua_pushnumber(thread, Number(value))
}

function loadText(wasm: LuaWasm, thread: Thread, { name, text }: NamedText): number {
  const content = Buffer.from(text, 'utf8')
  return withBlock(wasm, content, (block) =>
    withBlock(wasm, Buffer.from(`${name}\0`, 'utf8'), (nameBlock) =>
      wasm.lua.luaL_loadbufferx(thread, block, content.length, nameBlock, wasm.constant('t').address),
    ),
  )
}

const encoder = new TextEncoder()

/**
 * Pushes text as UTF-8, or bytes unchanged. Most strings are short: they are written into a permanent buffer, the
 * shortest by a loop, because allocating a block of memory for each would cost more than copying the text.
 */
function pushText(wasm: LuaWasm, thread: Thread, text: string | Uint8Array): void {
  const { lua, scratch } = wasm
  if (typeof text === 'string' && text.length <= shortText && writeAscii(wasm.bytes(), scratch.address, text)) {
    lua.lua_pushlstring(thread, scratch.address, text.length)
    return
  }
  if (typeof text === 'string' && text.length * 3 <= scratch.size) {
    const { written } = encoder.encodeInto(text, wasm.bytes().subarray(scratch.address, scratch.address + scratch.size))
    lua.lua_pushlstring(thread, scratch.address, written)
    return
  }
  const encoded = typeof text === 'string' ? encoder.encode(text) : text
  withBlock(wasm, encoded, (block) => lua.lua_pushlstring(thread, block, encoded.length))
}

/** Runs `use` with a copy of the bytes in Lua's memory, and frees the copy. */
function withBlock<T>(wasm: LuaWasm, content: Uint8Array, use: (block: Pointer) => T): T {
  const block = wasm.lua.malloc(content.length + 1)
  if (block === 0) throw new Error(`Lua's memory has no room for ${content.length} bytes`)
  try {
    wasm.bytes().set(content, block)
    return use(block)
  } finally {
    wasm.lua.free(block)
  }
}

/** The string at `index`, which must be a string, as text, or as bytes when it is not UTF-8. */
function readText(wasm: LuaWasm, thread: Thread, index: number): string | Uint8Array {
  const address = wasm.lua.lua_tolstring(thread, index, wasm.cell)
  return decode(wasm.bytes(), address, address + wasm.read32(wasm.cell))
}

/** The string at `index` for display: bytes that are not UTF-8 become the replacement character. */
function readMessage(wasm: LuaWasm, thread: Thread, index: number): string {
  const address = wasm.lua.lua_tolstring(thread, index, wasm.cell)
  return messageText(wasm.bytes().slice(address, address + wasm.read32(wasm.cell)))
}

/** Text up to the next NUL. */
function readConstant(wasm: LuaWasm, address: Pointer): string {
  const bytes = wasm.bytes()
  return new TextDecoder().decode(bytes.subarray(address, bytes.indexOf(0, address)))
}

/** False if the text is not ASCII; part of it may have been written by then. */
function writeAscii(bytes: Uint8Array, address: Pointer, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) return false
    bytes[address + index] = code
  }
  return true
}
