import { createHash } from 'node:crypto'
import { isJsonObject, type Json } from './json.ts'

/** SHA-256 as 64 hex digits, of text (as UTF-8) or bytes. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** SHA-256 of `canonicalJson` of a value, whose text is never made as a whole: a request may hold many large texts. */
export function canonicalHash(value: Json): string {
  const hash = createHash('sha256')
  let waiting = ''
  addCanonical(value, (text) => {
    waiting += text
    if (waiting.length < pieceLength) return
    hash.update(waiting)
    waiting = ''
  })
  return hash.update(waiting).digest('hex')
}

/** Characters of a text that are escaped at once. */
const pieceLength = 64 * 1024

function addCanonical(value: Json, add: (text: string) => void): void {
  if (typeof value === 'string' && value.length > pieceLength) {
    add('"')
    for (let start = 0; start < value.length;) {
      const end = pieceEnd(value, start)
      add(JSON.stringify(value.slice(start, end)).slice(1, -1))
      start = end
    }
    add('"')
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      add(index === 0 ? '[' : ',')
      addCanonical(item, add)
    }
    add(value.length === 0 ? '[]' : ']')
  } else if (isJsonObject(value)) {
    const sorted = Object.keys(value).toSorted()
    // an object has keys that are whole numbers first, in their order as numbers
    const keys = Object.keys(Object.fromEntries(sorted.map((key) => [key, null])))
    for (const [index, key] of keys.entries()) {
      add(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`)
      addCanonical(value[key] ?? null, add)
    }
    add(keys.length === 0 ? '{}' : '}')
  } else {
    add(JSON.stringify(value))
  }
}

/** Between two characters: half of one would be escaped. */
function pieceEnd(text: string, start: number): number {
  const end = start + pieceLength
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** Loads BLAKE3, which Node's own crypto lacks. The function returns the 32 bytes of a digest. */
export async function loadBlake3Digest(): Promise<(content: Uint8Array) => Uint8Array> {
  return (await import('@noble/hashes/blake3.js')).blake3
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Bytes in base 58 with Bitcoin's alphabet: each leading zero byte is a `1`. For short values such as digests. */
export function base58(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  const [zeros = ''] = /^(?:00)*/.exec(hex) ?? []
  let digits = ''
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= 58n) digits = alphabet.charAt(Number(rest % 58n)) + digits
  return '1'.repeat(zeros.length / 2) + digits
}
