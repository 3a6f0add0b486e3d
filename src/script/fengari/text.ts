import type { LuaApi, LuaThread } from './api.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Up to this length a loop over the bytes is faster than the decoder. */
const shortText = 24

export function encode(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? encoder.encode(text) : text
}

/** Pushes text as UTF-8, or a copy of bytes as they are. */
export function pushText(api: LuaApi, thread: LuaThread, text: string | Uint8Array): void {
  api.lua_pushstring(thread, encode(text))
}

/** The string at `index` as text, or as bytes when it is not UTF-8. It must be a string: a number would be changed in place. */
export function readText(api: LuaApi, thread: LuaThread, index: number): string | Uint8Array {
  const bytes = api.lua_tolstring(thread, index) ?? new Uint8Array(0)
  if (bytes.length <= shortText) {
    const text = shortAscii(bytes)
    if (text !== undefined) return text
  }
  try {
    return decoder.decode(bytes)
  } catch {
    // strings of Lua never change, so the script's own bytes must not leave
    return bytes.slice()
  }
}

/** Bytes for people: what is not UTF-8 becomes the replacement character. */
export function messageText(bytes: Uint8Array | null): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes ?? new Uint8Array(0))
}

function shortAscii(bytes: Uint8Array): string | undefined {
  let text = ''
  for (const byte of bytes) {
    if (byte >= 0x80) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}
