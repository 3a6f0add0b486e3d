import { isJsonObject, isObject, type Json, type JsonObject } from '../base/json.ts'

/** Rewrites each string of a value on its way to or from the journal (secrets). */
export type TextMap = (text: string) => string

/** Keys with a special meaning instead of being plain property names; see `encodeValue`. */
const tags: ReadonlySet<string> = new Set(['$big', '$num', '$bytes', '$latin1', '$nil', '$blob', '$plain'])
const specialNumbers: ReadonlyMap<string, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['-0', -0],
])

/**
 * A value as JSON that `decodeValue` turns back into an equal one; a value that is such JSON already is not copied.
 * Every string and key goes through `mask`.
 * Beyond JSON: bigint is `{"$big": "123"}`, NaN, infinities and -0 are `{"$num": "NaN"}`, bytes are `{"$bytes":
 * base64}` (`{"$latin1": text}` if they contain something masked), an undefined element of a list is `{"$nil": true}`,
 * an object with such a key is `{"$plain": {...}}`. An undefined property is omitted: the only thing that is not
 * restored.
 * @throws TypeError for anything else (functions, class instances): a programming error, named with its path
 */
export function encodeValue(value: unknown, mask: TextMap): Json {
  return encode(value, mask, [])
}

const nil: Json = { $nil: true }

/**
 * `path` is where `value` is. It is not a text, because building one for each of millions of values would be wasted.
 */
function encode(value: unknown, mask: TextMap, path: (string | number)[]): Json {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return mask(value)
  if (typeof value === 'number') return encodeNumber(value)
  if (typeof value === 'bigint') return { $big: value.toString() }
  if (value instanceof Uint8Array) return encodeBytes(value, mask)
  if (Array.isArray(value)) {
    const items = Array.from(value, (item, index) => (item === undefined ? nil : encodeBelow(index, item)))
    return items.every((item, index) => item === value[index]) ? (value as Json) : items
  }
  if (isPlain(value)) {
    const keys = Object.keys(value)
    const items = keys.map((key) => (value[key] === undefined ? undefined : encodeBelow(key, value[key])))
    const isSame = keys.every((key, index) => items[index] !== undefined && items[index] === value[key])
    if (isSame && keys.every((key) => mask(key) === key && !tags.has(key))) return value as Json
    const present = keys.flatMap((key, index) =>
      items[index] === undefined ? [] : [[mask(key), items[index]] as const],
    )
    const encoded = Object.fromEntries(present)
    return present.some(([key]) => tags.has(key)) ? { $plain: encoded } : encoded
  }
  throw new TypeError(`value${path.map(stepText).join('')} is ${describe(value)}; a recorded value must be JSON`)

  function encodeBelow(key: string | number, item: unknown): Json {
    path.push(key)
    const encoded = encode(item, mask, path)
    path.pop()
    return encoded
  }
}

function stepText(key: string | number): string {
  return typeof key === 'number' ? `[${key}]` : `.${key}`
}

function encodeNumber(value: number): Json {
  return Number.isFinite(value) && !Object.is(value, -0) ? value : { $num: Object.is(value, -0) ? '-0' : String(value) }
}

function encodeBytes(value: Uint8Array, mask: TextMap): Json {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const text = bytes.toString('latin1')
  const masked = mask(text)
  // base64 would carry a secret past the mask
  return masked === text ? { $bytes: bytes.toString('base64') } : { $latin1: masked }
}

function isPlain(value: unknown): value is { readonly [key: string]: unknown } {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function describe(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (!isObject(value)) return `a ${typeof value}`
  return `an instance of ${value.constructor instanceof Function ? value.constructor.name : 'a class'}`
}

/**
 * Decodes a value of `encodeValue`; every string and key goes through `unmask`. Unknown tags are left unchanged. What
 * needs no decoding is not copied.
 */
export function decodeValue(json: Json, unmask: TextMap): unknown {
  if (typeof json === 'string') return unmask(json)
  if (json === null || typeof json !== 'object') return json
  if (isList(json)) return decodeList(json, unmask)
  return isTagged(json) ? decodeTagged(json, unmask) : decodeObject(json, unmask)
}

function isTagged(json: JsonObject): boolean {
  for (const key in json) if (tags.has(key)) return true
  return false
}

function decodeTagged(json: JsonObject, unmask: TextMap): unknown {
  const { $big, $num, $bytes, $latin1, $nil, $plain } = json
  if ($nil === true) return undefined
  if (typeof $big === 'string' && /^-?\d+$/.test($big)) return BigInt($big)
  if (typeof $num === 'string') return specialNumbers.get($num)
  if (typeof $bytes === 'string') return new Uint8Array(Buffer.from($bytes, 'base64'))
  if (typeof $latin1 === 'string') return new Uint8Array(Buffer.from(unmask($latin1), 'latin1'))
  return decodeObject(isObject($plain) ? ($plain as JsonObject) : json, unmask)
}

function decodeObject(json: JsonObject, unmask: TextMap): unknown {
  const keys = Object.keys(json)
  const items = keys.map((key) => decodeValue(json[key] ?? null, unmask))
  if (keys.every((key, index) => items[index] === json[key] && unmask(key) === key)) return json
  return Object.fromEntries(keys.map((key, index) => [unmask(key), items[index]]))
}

function decodeList(json: readonly Json[], unmask: TextMap): unknown {
  const items = json.map((item) => decodeValue(item, unmask))
  return items.every((item, index) => item === json[index]) ? json : items
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json)
}

/** Without the times of files, which host functions add to every file. */
export function timeless(value: Json): Json {
  if (isList(value)) return value.map(timeless)
  if (!isJsonObject(value)) return value
  const { ctime: _, mtime: __, ...rest } = value
  return Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, timeless(item)]))
}
