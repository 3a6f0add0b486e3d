import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { base58, hashModule } from '../../../src/script/host/hash.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const large = Buffer.alloc(3_000_000, 'é')
const workspace = tempTree({
  'hello.txt': 'hello world',
  'empty.txt': '',
  'bytes.bin': Buffer.from([0xff, 0, 0x80]),
  'large.bin': large,
})
const host = hostSection(workspace)

function hash(name: string, value: LuaValue): LuaValue {
  return host.call(hashModule, name, value)[0]
}

const sha256 = 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9'
const blake3 = 'd74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24'

describe('aip.hash', () => {
  it('returns digests in four forms (vector 78)', () => {
    expect(hash('sha256', 'hello world')).toBe(sha256)
    expect(hash('sha256_b64', 'hello world')).toBe('uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=')
    expect(hash('sha256_b64u', 'hello world')).toBe('uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek')
    expect(hash('sha256_b58', 'hello world')).toBe('DULfJyE3WQqNxy3ymuhAChyNR3yufT88pmqvAazKFMG4')
    expect(hash('blake3', 'hello world')).toBe(blake3)
    expect(hash('blake3_b64', 'hello world')).toBe(Buffer.from(blake3, 'hex').toString('base64'))
    expect(hash('blake3_b64u', 'hello world')).toBe(Buffer.from(blake3, 'hex').toString('base64url'))
    expect(hash('blake3_b58', 'hello world')).toBe(base58(Buffer.from(blake3, 'hex')))
    expect(hash('sha512', '')).toBe(createHash('sha512').digest('hex'))
    expect(String(hash('sha512_b58', 'x')).length).toBeGreaterThan(80)
  })

  it('hashes text as UTF-8, and bytes as they are', () => {
    expect(hash('sha256', 'ä😀')).toBe(createHash('sha256').update('ä😀').digest('hex'))
    expect(hash('sha256', new Uint8Array([0xff]))).toBe(
      createHash('sha256')
        .update(Buffer.from([0xff]))
        .digest('hex'),
    )
    expect(hash('blake3', '')).toBe('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262')
  })

  it('returns nil for nil, and refuses other values', () => {
    expect(hash('sha512_b64', undefined)).toBeUndefined()
    expect(hash('blake3', undefined)).toBeUndefined()
    expect(() => hash('sha256', 5)).toThrow('aip.hash.sha256: argument 1 must be a string or nil, but was number')
    expect(() => hash('blake3_b58', {})).toThrow('aip.hash.blake3_b58: argument 1 must be')
  })

  it('consists of twelve functions', () => {
    expect(Object.keys(hashModule.functions)).toHaveLength(12)
  })
})

describe('the digests of aip.file', () => {
  it('are those of the bytes', () => {
    const file = (name: string, path: string): LuaValue => host.call(fileModule, name, path)[0]
    expect(file('hash_sha256', 'hello.txt')).toBe(sha256)
    expect(file('hash_sha256_b64', 'hello.txt')).toBe(hash('sha256_b64', 'hello world'))
    expect(file('hash_sha256_b64u', 'hello.txt')).toBe(hash('sha256_b64u', 'hello world'))
    expect(file('hash_sha256_b58u', 'hello.txt')).toBe(hash('sha256_b58', 'hello world'))
    expect(file('hash_sha512', 'bytes.bin')).toBe(
      createHash('sha512')
        .update(Buffer.from([0xff, 0, 0x80]))
        .digest('hex'),
    )
    expect(file('hash_sha512', 'large.bin')).toBe(createHash('sha512').update(large).digest('hex'))
    expect(file('hash_sha256', 'empty.txt')).toBe(hash('sha256', ''))
    expect(host.call(fileModule, 'hash_blake3', 'hello.txt')[0]).toBe(blake3)
    expect(host.call(fileModule, 'hash_blake3_b58u', 'hello.txt')[0]).toBe(base58(Buffer.from(blake3, 'hex')))
  })

  it('exist in twelve variants', () => {
    expect(Object.keys(fileModule.functions).filter((name) => name.startsWith('hash_'))).toHaveLength(12)
  })

  it('fail for a missing file, a folder, or nil', () => {
    expect(() => host.call(fileModule, 'hash_sha256', 'nope')).toThrow('there is no file nope')
    expect(() => host.call(fileModule, 'hash_sha256', '.')).toThrow('is a folder')
    expect(() => host.call(fileModule, 'hash_blake3', 'nope')).toThrow('there is no file nope')
    expect(() => host.call(fileModule, 'hash_blake3_b64', undefined)).toThrow('the path must be a string')
  })

  it('are recorded as observed, without the file', async () => {
    const recording = hostSection(workspace)
    expect(await runLua(recording, 'return aip.file.hash_blake3("hello.txt")')).toBe(blake3)
    expect(recording.records.filter(({ k }) => k === 'obs')).toMatchObject([
      { name: 'aip.file.hash_blake3', args: ['hello.txt'], value: [blake3] },
    ])
  })
})

describe('base58', () => {
  it('writes leading zeros as ones', () => {
    expect(base58(Buffer.from('00010966776006953d5567439e5e39f86a0d273beed61967f6', 'hex'))).toBe(
      '16UwLL9Risc3QfPqBUvKofHmBQ7wMtjvM',
    )
    expect([base58(Buffer.alloc(0)), base58(Buffer.alloc(3)), base58(Buffer.from([57]))]).toEqual(['', '111', 'z'])
  })
})
