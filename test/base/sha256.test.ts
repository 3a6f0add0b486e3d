import { createHash, randomBytes } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { createSha256 } from '../../src/base/sha256.ts'

afterEach(() => vi.unstubAllGlobals())

it('hashes bytes of any length as Node does, however they are cut into pieces', () => {
  for (let size = 0; size < 400; size += 1) {
    const bytes = randomBytes(size)
    const hash = createSha256()
    for (let from = 0; from < size;) {
      const piece = bytes.subarray(from, from + 1 + ((from * 31 + size) % 150))
      hash?.update(piece)
      from += piece.length
    }
    expect(hash?.digest().toString('hex'), `${size} bytes`).toBe(createHash('sha256').update(bytes).digest('hex'))
  }
})

it('keeps hashes apart that are made at the same time', () => {
  const pieces = Array.from({ length: 20 }, () => randomBytes(50))
  const hashes = [createSha256(), createSha256()]
  for (const piece of pieces) for (const hash of hashes) hash?.update(piece)
  const expected = createHash('sha256').update(Buffer.concat(pieces)).digest('hex')
  expect(hashes.map((hash) => hash?.digest().toString('hex'))).toEqual([expected, expected])
})

it('hashes the text of a file in UTF-8, also where there is no WebAssembly', async () => {
  const text = 'a line with é and 😀\n'.repeat(9)
  const expected = createHash('sha256').update(text).digest('hex')
  expect(sha256(text)).toBe(expected)
  vi.stubGlobal('WebAssembly', undefined)
  vi.resetModules()
  const without = await import('../../src/base/hash.ts')
  expect(without.sha256(text)).toBe(expected)
})
