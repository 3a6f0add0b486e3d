const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Up to this length a loop over the bytes is faster than the encoder and the decoder. */
export const shortText = 24

/**
 * A Lua string as text, or a copy of its bytes if they are not UTF-8. The copy is needed: Lua reuses its own memory.
 */
export function decode(bytes: Uint8Array, start = 0, end = bytes.length): string | Uint8Array {
  if (end - start <= shortText) {
    const text = shortAscii(bytes, start, end)
    if (text !== undefined) return text
  }
  const content = end - start === bytes.length ? bytes : bytes.subarray(start, end)
  try {
    return decoder.decode(content)
  } catch {
    return content.slice()
  }
}

/** Bytes as text for display: bytes that are not UTF-8 become the replacement character. */
export function messageText(bytes: Uint8Array | null): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes ?? new Uint8Array(0))
}

function shortAscii(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = ''
  for (let position = start; position < end; position++) {
    const code = bytes[position] ?? 0
    if (code >= 0x80) return undefined
    text += String.fromCharCode(code)
  }
  return text
}
