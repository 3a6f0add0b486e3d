import { readBytes } from '../../tool/workspace-reads.ts'
import { argumentsToJson } from '../values.ts'
import { loadBlake3, shaNames, shaText, type DigestEncoding } from './digest.ts'
import type { ModuleFunction } from './module.ts'
import { sectionPath } from './section-path.ts'

const endings: readonly (readonly [string, DigestEncoding])[] = [
  ['', 'hex'],
  ['_b64', 'b64'],
  ['_b64u', 'b64u'],
  ['_b58u', 'b58'],
]

/**
 * `aip.file.hash_sha256(path) → string`
 * `aip.file.hash_sha512(path) → string`
 * `aip.file.hash_blake3(path) → string`
 * The digest of the bytes of a file in hexadecimal. A missing file is an error.
 */
/**
 * `aip.file.hash_sha256_b64(path) → string`
 * `aip.file.hash_sha512_b64(path) → string`
 * `aip.file.hash_blake3_b64(path) → string`
 * The same in Base64, padded.
 */
/**
 * `aip.file.hash_sha256_b64u(path) → string`
 * `aip.file.hash_sha512_b64u(path) → string`
 * `aip.file.hash_blake3_b64u(path) → string`
 * The same in Base64 for URLs, not padded.
 */
/**
 * `aip.file.hash_sha256_b58u(path) → string`
 * `aip.file.hash_sha512_b58u(path) → string`
 * `aip.file.hash_blake3_b58u(path) → string`
 * The same in Base58 with the alphabet of Bitcoin.
 */
/** The twelve `hash_…` functions of `aip.file`: the digest of a file's bytes (spec/aipack.md 6.2). */
export const hashFunctions: { readonly [name: string]: ModuleFunction } = Object.fromEntries(
  endings.flatMap(([ending, encoding]) => [
    ...shaNames.map((name) => shaFunction(name, ending, encoding)),
    blake3Function(ending, encoding),
  ]),
)

function shaFunction(
  name: (typeof shaNames)[number],
  ending: string,
  encoding: DigestEncoding,
): [string, ModuleFunction] {
  const short = `hash_${name}${ending}`
  const argument = { name: `aip.file.${short}` }
  return [
    short,
    {
      effect: 'observe',
      call: ([path], section) => {
        const file = sectionPath(path, argument, section)
        return [shaText(readBytes(file, section.context), name, encoding)]
      },
    },
  ]
}

/** Observes as the others do, once its code is loaded. */
function blake3Function(ending: string, encoding: DigestEncoding): [string, ModuleFunction] {
  const short = `hash_blake3${ending}`
  const name = `aip.file.${short}`
  return [
    short,
    {
      effect: 'act',
      call: async (args, section, at) => {
        const { context } = section
        const hash = await loadBlake3()
        return context.effects.observe(at, { name, args: argumentsToJson(args) }, () => [
          hash(readBytes(sectionPath(args[0], { name }, section), context), encoding),
        ])
      },
    },
  ]
}
