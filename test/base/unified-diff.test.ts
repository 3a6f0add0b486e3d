import { expect, it } from 'vitest'
import { unifiedDiff } from '../../src/base/unified-diff.ts'

const names = { from: 'a', to: 'b' }

it('returns nothing for equal texts', () => {
  expect(unifiedDiff('one\ntwo\n', 'one\ntwo\n', names)).toBe('')
})

it('shows a changed line between equal ones', () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`)
  const changed = lines.with(10, 'other\n')
  expect(unifiedDiff(lines.join(''), changed.join(''), names)).toBe(
    '--- a\n+++ b\n@@ -8,7 +8,7 @@\n line 7\n line 8\n line 9\n-line 10\n+other\n line 11\n line 12\n line 13\n',
  )
})

it('reports a missing line feed at the end', () => {
  expect(unifiedDiff('a\n', 'a', names)).toBe('--- a\n+++ b\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n')
})

it('shows text that is added to an empty file', () => {
  expect(unifiedDiff('', 'a\nb\n', names)).toBe('--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n')
})

it('separates changes that are far from each other', () => {
  const lines = Array.from({ length: 40 }, (_, index) => `${index}\n`)
  const diff = unifiedDiff(lines.join(''), lines.with(3, 'x\n').with(30, 'y\n').join(''), names)
  expect(diff.match(/^@@/gm)).toHaveLength(2)
})

it('handles long texts that have nothing in common', () => {
  const before = Array.from({ length: 5000 }, (_, index) => `before ${index}\n`).join('')
  const after = Array.from({ length: 5000 }, (_, index) => `after ${index}\n`).join('')
  const diff = unifiedDiff(before, after, names)
  expect(diff.match(/^-before/gm)).toHaveLength(5000)
  expect(diff.match(/^\+after/gm)).toHaveLength(5000)
})

it('shows one replacement of the different lines when there are very many of them', () => {
  const lines = (word: string): readonly string[] => Array.from({ length: 600 }, (_, index) => `${word} ${index}\n`)
  const before = ['first\n', ...lines('before'), 'last'].join('')
  const after = ['first\n', ...lines('after'), 'last'].join('')
  const body = [' first\n', ...lines('-before'), ...lines('+after'), ' last\n\\ No newline at end of file\n'].join('')
  expect(unifiedDiff(before, after, names)).toBe(`--- a\n+++ b\n@@ -1,602 +1,602 @@\n${body}`)
})

it('contains both texts when all equal lines are shown, whatever they are', () => {
  let state = 7
  const random = (below: number): number => (state = (state * 48271) % 2147483647) % below
  const text = (): string => Array.from({ length: random(12) }, () => `${'abc'.charAt(random(3))}\n`).join('')
  for (let round = 0; round < 300; round += 1) {
    const [before, after] = [text(), text()]
    const lines = unifiedDiff(before, after, { ...names, context: 99 })
      .split('\n')
      .slice(3, -1)
    const side = (sign: string): string =>
      lines
        .filter((line) => line.startsWith(' ') || line.startsWith(sign))
        .map((line) => `${line.slice(1)}\n`)
        .join('')
    expect([side('-'), side('+')]).toEqual(before === after ? ['', ''] : [before, after])
  }
})
