import { expect, it } from 'vitest'
import { editDistance, foldKey, nearest } from '../../src/base/suggest.ts'

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

it('takes the first of equally near words', () => {
  expect(nearest('bat', ['cat', 'rat'])).toBe('cat')
})

it('folds what people mix up in keys', () => {
  expect(foldKey('Base-Dir')).toBe(foldKey('base_dir'))
})
