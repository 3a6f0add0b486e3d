import { expect, it } from 'vitest'
import { parseSize, sizeText } from '../../src/base/size.ts'

it.each([
  ['1kb', 1024],
  ['1.5gb', 1.5 * 1024 ** 3],
  [' 500 MB ', 500 * 1024 ** 2],
  ['2tb', 2 * 1024 ** 4],
  ['5', undefined],
  ['-1kb', undefined],
  ['1e9kb', undefined],
  ['2 g', undefined],
  ['', undefined],
])('parses the size %j as %s', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes)
})

it.each([
  [1, '0.1kb'],
  [1024, '1kb'],
  [1024 ** 2 + 1, '1.1mb'],
  [2 * 1024 ** 3, '2gb'],
])('shows %d bytes as %s, which is parsed as at least as many', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text)
  expect(parseSize(text)).toBeGreaterThanOrEqual(bytes)
})
