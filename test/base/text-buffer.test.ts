import { expect, it } from 'vitest'
import { createTextBuffer } from '../../src/run/messages.ts'

it.each([0, 10, 1_000_000])('collects a text, with an initial capacity of %d bytes', (room) => {
  const parts = Array.from({ length: 5000 }, (_, index) => `${index} é 漢 😀 ${'x'.repeat(index % 50)}\n`)
  const buffer = createTextBuffer(room)
  for (const part of parts) buffer.add(part)
  expect(buffer.text()).toBe(parts.join(''))
})
