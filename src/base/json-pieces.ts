import { canonicalJson, isJsonObject, type Json } from './json.ts'

/** Characters escaped at a time: longer pieces would survive the cheap young-generation garbage collection. */
const pieceLength = 16 * 1024

/**
 * Passes on the JSON text of a value in pieces, so that it never exists as a whole: a request may contain many large
 * texts. `canonical` sorts the keys as `canonicalJson` does; otherwise they keep their order, as with `JSON.stringify`.
 * A piece never ends inside a surrogate pair.
 */
function jsonPieces(value: Json, order: 'canonical' | 'as written', add: (piece: string) => void): void {
  if (typeof value === 'string' && value.length > pieceLength) {
    add('"')
    for (let start = 0; start < value.length;) {
      const end = pieceEnd(value, start)
      add(JSON.stringify(value.slice(start, end)).slice(1, -1))
      start = end
    }
    add('"')
  } else if (typeof value === 'string' || isSmall(value)) {
    add(order === 'canonical' ? canonicalJson(value) : JSON.stringify(value))
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      add(index === 0 ? '[' : ',')
      jsonPieces(item ?? null, order, add)
    }
    add(value.length === 0 ? '[]' : ']')
  } else if (isJsonObject(value)) {
    const keys =
      order === 'canonical' ? sortedKeys(value) : Object.keys(value).filter((key) => value[key] !== undefined)
    for (const [index, key] of keys.entries()) {
      add(index === 0 ? '{' : ',')
      jsonPieces(key, order, add)
      add(':')
      jsonPieces(value[key] ?? null, order, add)
    }
    add(keys.length === 0 ? '{}' : '}')
  }
}

/**
 * Values with fewer characters, before escaping, are serialized in one call: with many small parts that is far faster.
 */
const smallLength = 4 * 1024
/** More than a number takes, or the punctuation around a text. */
const partLength = 25

/** Stops as soon as the answer is known. */
function isSmall(value: Json): boolean {
  let left = smallLength
  const fits = (part: Json): boolean => {
    left -= partLength + (typeof part === 'string' ? part.length : 0)
    if (left < 0) return false
    if (Array.isArray(part)) return part.every(fits)
    return !isJsonObject(part) || Object.keys(part).every((key) => fits(key) && fits(part[key] ?? null))
  }
  return fits(value)
}

/** Integer-like keys of an object come first, in numeric order. */
function sortedKeys(value: object): readonly string[] {
  const sorted = Object.keys(value).toSorted()
  return Object.keys(Object.fromEntries(sorted.map((key) => [key, null])))
}

/** Never splits a surrogate pair: half of one would be escaped. */
function pieceEnd(text: string, start: number): number {
  const end = start + pieceLength
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** Maximum size of the waiting text and the next piece: an escaped character takes six bytes, others at most three. */
const chunkBytes = 9 * pieceLength

/**
 * Writes the JSON text of a value as UTF-8 in chunks of up to 144 KB. The buffer is reused after each call of `take`.
 */
export function jsonChunks(value: Json, order: 'canonical' | 'as written', take: (chunk: Uint8Array) => void): void {
  let chunk: Buffer | undefined
  let waiting = ''
  jsonPieces(value, order, (piece) => {
    waiting += piece
    if (waiting.length < pieceLength) return
    chunk ??= Buffer.allocUnsafe(chunkBytes)
    take(chunk.subarray(0, chunk.write(waiting)))
    waiting = ''
  })
  if (waiting !== '') take(Buffer.from(waiting))
}

/**
 * True if the texts of a value have more characters than this, and so does its JSON text. Stops as soon as it knows.
 */
export function isLongJson(value: Json, length: number): boolean {
  let left = length
  const count = (part: Json): boolean => {
    if (typeof part === 'string') left -= part.length
    else if (Array.isArray(part)) part.some(count)
    else if (isJsonObject(part)) Object.values(part).some(count)
    return left < 0
  }
  return count(value)
}
