import { expect, it } from 'vitest'
import { editDistance, foldKey, nearest, nearestOf } from '../../src/base/suggest.ts'

it.each([
  ['model', 'model', 0],
  ['modle', 'model', 1],
  ['mode', 'model', 1],
  ['models', 'model', 1],
  ['nodel', 'model', 1],
  ['', 'abc', 3],
  ['kitten', 'sitting', 3],
])('counts the edits from %j to %j as %i', (left, right, edits) => {
  expect(editDistance(left, right)).toBe(edits)
  expect(editDistance(right, left)).toBe(edits)
})

it('stops counting above the limit', () => {
  expect(editDistance('abcdef', 'ghijkl', 2)).toBe(3)
  expect(editDistance('a', 'x'.repeat(5_000_000), 1)).toBe(2)
})

it('finds the word that was probably meant', () => {
  const known = ['timeout', 'memory_mb', 'engine']
  expect(nearest('timout', known)).toBe('timeout')
  expect(nearest('memoryMb', known)).toBe('memory_mb')
  expect(nearest('zebra', known)).toBeUndefined()
})

it('returns the first of equally near words', () => {
  expect(nearest('bat', ['cat', 'rat'])).toBe('cat')
})

it.each([
  ['ca', 'abc', 3],
  ['abxyab', 'abyxab', 1],
  ['aab', 'ab', 1],
  ['abab', 'ab', 2],
  ['t1', 'tools', 4],
])('counts the edits between equal ends of %j and %j: %i', (left, right, edits) => {
  expect(editDistance(left, right)).toBe(edits)
  expect(editDistance(left, right, edits - 1)).toBe(edits)
})

it('finds the same for each of many words, independent of earlier comparisons', () => {
  const find = nearestOf(['agent-1', 'agent-10', 'Code_Map', 'reviewer'])
  const meant = ['agnet-10', 'agent-1', 'codemap', 'code-mop', 'reviewre', 'missing7', 'agent-2'].map(find)
  expect(meant).toEqual(['agent-10', 'agent-1', 'Code_Map', undefined, 'reviewer', undefined, 'agent-1'])
})

it('handles many unknown words among many known ones', () => {
  const known = Array.from({ length: 1000 }, (_, index) => `agent-${index}`)
  const find = nearestOf(known)
  const found = Array.from({ length: 20_000 }, (_, index) => find(`missing${index}`))
  expect(found.filter((word) => word !== undefined)).toEqual([])
})

it('normalizes commonly confused spellings of keys', () => {
  expect(foldKey('Base-Dir')).toBe(foldKey('base_dir'))
})
