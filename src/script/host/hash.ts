import type { LuaValue } from '../engine.ts'
import { argumentError, luaTypeName } from './arguments.ts'
import { loadBlake3, shaNames, shaText, type DigestEncoding } from './digest.ts'
import type { HostModule, ModuleFunction } from './module.ts'

/** Endings of the function names; `aip.file` has `_b58u` instead of `_b58` (spec/aipack.md 12, 32). */
const endings: readonly (readonly [string, DigestEncoding])[] = [
  ['', 'hex'],
  ['_b58', 'b58'],
  ['_b64', 'b64'],
  ['_b64u', 'b64u'],
]

/** `aip.hash` (spec/aipack.md 6.2, vector 78): the digest of a text, nil for nil. */
export const hashModule: HostModule = {
  name: 'aip.hash',
  /**
   * `aip.hash.sha256(text?) → string?`
   * `aip.hash.sha512(text?) → string?`
   * `aip.hash.blake3(text?) → string?`
   * The digest of a text in hexadecimal. nil for nil; anything but a string is an error.
   */
  /**
   * `aip.hash.sha256_b64(text?) → string?`
   * `aip.hash.sha512_b64(text?) → string?`
   * `aip.hash.blake3_b64(text?) → string?`
   * The same in Base64, padded.
   */
  /**
   * `aip.hash.sha256_b64u(text?) → string?`
   * `aip.hash.sha512_b64u(text?) → string?`
   * `aip.hash.blake3_b64u(text?) → string?`
   * The same in Base64 for URLs, not padded.
   */
  /**
   * `aip.hash.sha256_b58(text?) → string?`
   * `aip.hash.sha512_b58(text?) → string?`
   * `aip.hash.blake3_b58(text?) → string?`
   * The same in Base58 with the alphabet of Bitcoin.
   */
  functions: Object.fromEntries(
    endings.flatMap(([ending, encoding]) => [
      ...shaNames.map((name) => shaFunction(name, ending, encoding)),
      blake3Function(ending, encoding),
    ]),
  ),
}

function shaFunction(
  name: (typeof shaNames)[number],
  ending: string,
  encoding: DigestEncoding,
): [string, ModuleFunction] {
  const full = `aip.hash.${name}${ending}`
  const hash = (content: string | Uint8Array): string => shaText(content, name, encoding)
  return [name + ending, { effect: 'pure', call: ([value]) => [mapContent(value, full, hash)] }]
}

/** It changes nothing, but its code is loaded at the first use, and only these calls can wait. */
function blake3Function(ending: string, encoding: DigestEncoding): [string, ModuleFunction] {
  const name = `blake3${ending}`
  return [
    name,
    {
      effect: 'act',
      call: async ([value]) => {
        const hash = await loadBlake3()
        return [mapContent(value, `aip.hash.${name}`, (content) => hash(content, encoding))]
      },
    },
  ]
}

function mapContent(value: LuaValue, name: string, hash: (content: string | Uint8Array) => string): LuaValue {
  if (value === undefined) return undefined
  if (typeof value === 'string' || value instanceof Uint8Array) return hash(value)
  throw argumentError(name, `argument 1 must be a string or nil, but was ${luaTypeName(value)}`)
}
