import type { Pointer } from './exports.ts'
import type { LuaWasm } from './wasm.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Up to this length a loop over the bytes is faster than the encoder and the decoder. */
const shortText = 24

/** Pushes text as UTF-8, or bytes as they are. NUL is an ordinary byte. */
export function pushText(wasm: LuaWasm, thread: Pointer, text: string | Uint8Array): void {
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
export function withBlock<T>(wasm: LuaWasm, content: Uint8Array, use: (block: Pointer) => T): T {
  const block = wasm.lua.malloc(content.length + 1)
  if (block === 0) throw new Error(`Lua's memory has no room for ${content.length} bytes`)
  try {
    wasm.bytes().set(content, block)
    return use(block)
  } finally {
    wasm.lua.free(block)
  }
}

/** The bytes of the string at `index`, which must be a string: a number there would be changed in place. */
function readBytes(wasm: LuaWasm, thread: Pointer, index: number): Uint8Array<ArrayBuffer> {
  const address = wasm.lua.lua_tolstring(thread, index, wasm.cell)
  return wasm.bytes().slice(address, address + wasm.read32(wasm.cell))
}

/** The string at `index` as text, or as bytes when it is not UTF-8. */
export function readText(wasm: LuaWasm, thread: Pointer, index: number): string | Uint8Array {
  const address = wasm.lua.lua_tolstring(thread, index, wasm.cell)
  const length = wasm.read32(wasm.cell)
  const bytes = wasm.bytes()
  if (length <= shortText) {
    const text = shortAscii(bytes, address, length)
    if (text !== undefined) return text
  }
  const content = bytes.subarray(address, address + length)
  try {
    return decoder.decode(content)
  } catch {
    return content.slice()
  }
}

/** The string at `index` for people: bytes that are not UTF-8 become the replacement character. */
export function readMessage(wasm: LuaWasm, thread: Pointer, index: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(readBytes(wasm, thread, index))
}

/** Text up to the next NUL. */
export function readConstant(wasm: LuaWasm, address: Pointer): string {
  const bytes = wasm.bytes()
  return new TextDecoder().decode(bytes.subarray(address, bytes.indexOf(0, address)))
}

function shortAscii(bytes: Uint8Array, address: Pointer, length: number): string | undefined {
  let text = ''
  for (let position = address; position < address + length; position++) {
    const code = bytes[position] ?? 0
    if (code >= 0x80) return undefined
    text += String.fromCharCode(code)
  }
  return text
}

/** False when the text is not ASCII; part of it may be written then. */
function writeAscii(bytes: Uint8Array, address: Pointer, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) return false
    bytes[address + index] = code
  }
  return true
}
