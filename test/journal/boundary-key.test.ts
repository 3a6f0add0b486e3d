import { expect, it } from 'vitest'
import { boundaryKey } from '../../src/journal/matching.ts'
import { createMask, noMask } from '../../src/journal/secrets.ts'

it('caches the hash of a frozen input for all boundaries, equal to the hash of an equal value', () => {
  let reads = 0
  const shared = Object.freeze({
    get text() {
      reads += 1
      return 'a secret-value'
    },
  })
  const first = boundaryKey({ shared }, noMask)
  const once = reads
  expect(boundaryKey({ shared, more: 1 }, noMask)).toMatchObject(first)
  expect(reads).toBe(once)
  expect(boundaryKey({ shared: { text: 'a secret-value' } }, noMask)).toEqual(first)
  const mask = createMask({ MY_TOKEN: 'secret-value' })
  expect(boundaryKey({ shared }, mask)).not.toEqual(first)
  expect(boundaryKey({ shared }, noMask)).toEqual(first)
})

it('hashes a mutable input each time', () => {
  const input = { text: 'a' }
  const first = boundaryKey({ input }, noMask)
  input.text = 'b'
  expect(boundaryKey({ input }, noMask)).not.toEqual(first)
})
