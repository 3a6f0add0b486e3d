import { expect, it } from 'vitest'
import { namedCalls } from '../../../src/load/check/lua-source.ts'

const call = 'require("a")\n'
const found = { kind: 'module', name: 'a', line: 1, column: 9, endColumn: 12 }

// slow, the first one for more than 35 s, when what is not closed was searched again from every position
it.each([
  ['long texts', '['.repeat(300_000)],
  ['comments', '--[['.repeat(75_000)],
  ['texts with escapes', '"\\'.repeat(150_000)],
  ['arguments', 'require "\\'.repeat(30_000)],
  ['spaces', `require${' '.repeat(300_000)}`],
])('unclosed calls before %s are found in one pass over the code', (_, rest) => {
  expect(namedCalls(call + rest)[0]).toEqual(found)
})

it('many calls keep their lines and columns', () => {
  const calls = namedCalls(call.repeat(30_000))
  expect(calls).toHaveLength(30_000)
  expect(calls.at(-1)).toEqual({ ...found, line: 30_000 })
})

it('a concatenated or unclosed name is not a literal name', () => {
  expect(namedCalls('require "a" .. b\nrequire "c\nrequire \'')).toEqual([])
})
