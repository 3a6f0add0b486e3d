import { createHmac, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSigner } from '../../src/base/hash.ts'

it.each([0, 1, 100, 5000, 40_000, 1])('signs %d pieces as Node does, however much was signed before', (count) => {
  const key = randomBytes(32)
  const own = createHmac('sha256', key)
  const signer = createSigner(key)
  for (let number = 0; number < count; number += 1) {
    const piece = number % 2 === 0 ? `line ${number} é 😀` : Buffer.from(`line ${number}\n`)
    own.update(piece)
    signer.update(piece)
  }
  expect(signer.digest()).toBe(own.digest('hex'))
})
