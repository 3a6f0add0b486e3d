import { blake3 as digest } from '@noble/hashes/blake3.js'
import { createHash } from '../../base/hash.ts'
import { readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { type HostCall, luaTypeName } from './call.ts'
import { type HostModule, type ModuleFunction, pure, readingFile } from './module.ts'

/** How bytes are encoded as text. `b64` is padded; `b64u` is URL-safe and not padded. */
export type DigestEncoding = 'hex' | 'b64' | 'b64u' | 'b58'

type Digest = (content: string | Uint8Array) => Uint8Array

const algorithms: { readonly [name: string]: Digest } = {
  sha256: (content) => createHash('sha256').update(content).digest(),
  sha512: (content) => createHash('sha512').update(content).digest(),
  blake3: (content) => blake3(typeof content === 'string' ? Buffer.from(content) : content),
}

/** `aip.hash`: the digest of a string, nil for nil. */
export const hashModule: HostModule = {
  name: 'aip.hash',
  /**
   * `aip.hash.sha256(text?) → string?`
   * `aip.hash.sha512(text?) → string?`
   * `aip.hash.blake3(text?) → string?`
   * The digest of a string in hexadecimal. nil for nil; anything but a string is an error.
   */
  /**
   * `aip.hash.sha256_b64(text?) → string?`
   * `aip.hash.sha512_b64(text?) → string?`
   * `aip.hash.blake3_b64(text?) → string?` The same in Base64, padded.
   */
  /**
   * `aip.hash.sha256_b64u(text?) → string?`
   * `aip.hash.sha512_b64u(text?) → string?`
   * `aip.hash.blake3_b64u(text?) → string?` The same in Base64 for URLs, not padded.
   */
  /**
   * `aip.hash.sha256_b58(text?) → string?`
   * `aip.hash.sha512_b58(text?) → string?`
   * `aip.hash.blake3_b58(text?) → string?` The same in Base58 with the alphabet of Bitcoin.
   */
  functions: forAll({ '': 'hex', _b58: 'b58', _b64: 'b64', _b64u: 'b64u' }, (digest, encoding) =>
    pure((call) => textDigest(call, digest, encoding)),
  ),
}

/**
 * `aip.file.hash_sha256(path) → string`
 * `aip.file.hash_sha512(path) → string`
 * `aip.file.hash_blake3(path) → string` The digest of the bytes of a file in hexadecimal. A missing file is an error.
 */
/**
 * `aip.file.hash_sha256_b64(path) → string`
 * `aip.file.hash_sha512_b64(path) → string`
 * `aip.file.hash_blake3_b64(path) → string` The same in Base64, padded.
 */
/**
 * `aip.file.hash_sha256_b64u(path) → string`
 * `aip.file.hash_sha512_b64u(path) → string`
 * `aip.file.hash_blake3_b64u(path) → string` The same in Base64 for URLs, not padded.
 */
/**
 * `aip.file.hash_sha256_b58u(path) → string`
 * `aip.file.hash_sha512_b58u(path) → string`
 * `aip.file.hash_blake3_b58u(path) → string` The same in Base58 with the alphabet of Bitcoin.
 */
/** The twelve `hash_…` functions of `aip.file`: the digest of a file's bytes. */
export const fileHashFunctions: HostModule['functions'] = forAll(
  { '': 'hex', _b64: 'b64', _b64u: 'b64u', _b58u: 'b58' },
  (digest, encoding) => readingFile((call) => encoded(digest(readBytes(call.source(0), call.context)), encoding)),
  'hash_',
)

/** A function for each algorithm and encoding; `endings` and the prefix make up its name. */
function forAll(
  endings: { readonly [ending: string]: DigestEncoding },
  make: (digest: Digest, encoding: DigestEncoding) => ModuleFunction,
  prefix = '',
): HostModule['functions'] {
  return Object.fromEntries(
    Object.entries(endings).flatMap(([ending, encoding]) =>
      Object.entries(algorithms).map(([name, digest]) => [prefix + name + ending, make(digest, encoding)]),
    ),
  )
}

function textDigest(call: HostCall, digest: Digest, encoding: DigestEncoding): LuaValue {
  const [value] = call.args
  if (value === undefined) return undefined
  if (typeof value === 'string' || value instanceof Uint8Array) return encoded(digest(value), encoding)
  throw call.error(`argument 1 must be a string or nil, but was ${luaTypeName(value)}`)
}

export function encoded(bytes: Uint8Array, encoding: DigestEncoding): string {
  switch (encoding) {
    case 'hex':
      return Buffer.from(bytes).toString('hex')
    case 'b64':
      return Buffer.from(bytes).toString('base64')
    case 'b64u':
      return Buffer.from(bytes).toString('base64url')
    case 'b58':
      return base58(bytes)
  }
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

/** The 32 bytes of a BLAKE3 digest, which Node's own crypto lacks. */
function blake3(content: Uint8Array): Uint8Array {
  return digest(content)
}
