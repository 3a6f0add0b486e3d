import { expect, it } from 'vitest'
import { splitDiff } from '../../../src/page/data/split-diff.ts'

it('aligns removed lines with the lines that replace them', () => {
  const diff =
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,4 +3,3 @@\n same\n-one\n-two\n+uno\n same\n\\ No newline at end of file\n'
  const { lines, added, removed } = splitDiff(diff)
  expect([added, removed]).toEqual([1, 2])
  expect(lines).toEqual([
    { kind: 'hunk', text: '@@ -3,4 +3,3 @@' },
    { kind: 'same', before: { number: 3, text: 'same' }, after: { number: 3, text: 'same' } },
    { kind: 'changed', before: { number: 4, text: 'one' }, after: { number: 4, text: 'uno' } },
    { kind: 'changed', before: { number: 5, text: 'two' } },
    { kind: 'same', before: { number: 6, text: 'same' }, after: { number: 5, text: 'same' } },
    { kind: 'note', text: 'No newline at end of file' },
  ])
})

it('keeps remarks in a diff', () => {
  expect(splitDiff('diff --git a/x b/x\nBinary files a/x and b/x differ\n').lines).toEqual([
    { kind: 'note', text: 'Binary files a/x and b/x differ' },
  ])
})

it('reads lines inside a hunk that look like file headers as content', () => {
  const { lines } = splitDiff('--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+++ new\n')
  expect(lines.at(-1)).toEqual({
    kind: 'changed',
    before: { number: 1, text: '-- old' },
    after: { number: 1, text: '++ new' },
  })
})
