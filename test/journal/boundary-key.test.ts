import { expect, it } from 'vitest'
import { boundaryKey } from '../../src/journal/matching.ts'
import { createMask, noMask } from '../../src/journal/secrets.ts'

it('hashes a frozen input once for all boundaries, to what another one with this value has', () => {
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

it('hashes one that may still change each time', () => {
  const input = { text: 'a' }
  const first = boundaryKey({ input }, noMask)
  input.text = 'b'
  expect(boundaryKey({ input }, noMask)).not.toEqual(first)
})
