/** Decodes text by the charset of its content type, else as UTF-8; invalid bytes become U+FFFD. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w.:-]+)/i.exec(contentType) ?? []
  return decoderOf(charset).decode(bytes)
}

function decoderOf(charset: string): { decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
