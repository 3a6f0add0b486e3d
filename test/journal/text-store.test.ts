import { expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { openTextStore } from '../../src/journal/text-store.ts'

type Parts = Parameters<typeof openTextStore>[0]

it('a journal that stores contents stores texts, and finds them by their hash', () => {
  const kept = new Map<string, Buffer>()
  const parts: Parts = {
    keep(content) {
      if (!('bytes' in content)) throw new Error('a text is not a file')
      // a part of a larger buffer, as it is read from a file of several contents
      kept.set(sha256(content.bytes), Buffer.from(`..${String(content.bytes)}..`).subarray(2, -2))
    },
    keepAhead: async () => {},
    findKept: (hash) => kept.get(hash),
  }
  const texts = openTextStore(parts)
  texts?.keep('Grüße 🎉')
  expect(texts?.find(sha256('Grüße 🎉'))).toBe('Grüße 🎉')
  expect(texts?.find('0'.repeat(64))).toBeUndefined()
})

it('a journal that stores no contents stores no texts', () => {
  expect(openTextStore({ keep: undefined, keepAhead: undefined, findKept: undefined })).toBeUndefined()
})
