import { describe, expect, it } from 'vitest'
import { unifiedDiff } from '../../src/base/unified-diff.ts'
import { hunkText, readDiff, withHunks } from '../../src/event/hunks.ts'
import { editedText, partDecision, rejectedText } from '../../src/event/review.ts'

const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}`)
const names = { from: 'a/a.txt', to: 'b/a.txt' }

/** A text in which three places change. */
const before = `${lines(40).join('\n')}\n`
const after = before.replace('line 3\n', 'three\n').replace('line 20\n', '').replace('line 38\n', 'line 38\nnew\n')

describe('the hunks of a diff', () => {
  it('are numbered, and have the first line that they change', () => {
    const { head, hunks } = readDiff(`diff --git a/a.txt b/a.txt\n${unifiedDiff(before, after, names)}`)
    expect(head).toEqual(['diff --git a/a.txt b/a.txt', '--- a/a.txt', '+++ b/a.txt'])
    expect(hunks.map(({ number, line }) => [number, line])).toEqual([
      [1, 3],
      [2, 20],
      [3, 39],
    ])
  })

  it.each([
    ['some', [1, 3], before.replace('line 3\n', 'three\n').replace('line 38\n', 'line 38\nnew\n')],
    ['one', [2], before.replace('line 20\n', '')],
    ['all', [1, 2, 3], after],
    ['none', [], before],
  ] as const)('are made exactly where they are: %s', (_, chosen, expected) => {
    expect(withHunks(before, readDiff(unifiedDiff(before, after, names)), { hunks: chosen })).toBe(expected)
  })

  it.each([
    ['a new file', '', 'one\ntwo\n'],
    ['without a line feed at its end', 'one\ntwo', 'one\n2'],
    ['with a line feed added', 'one', 'one\n'],
    ['an emptied file', 'one\n', ''],
    ['lines that look like a diff', '-- a\n@@ -1 +1 @@\n', '++ b\n@@ -2 +2 @@\n'],
    ['CR LF', 'one\r\ntwo\r\n', 'one\r\n2\r\n'],
    [
      'more lines than are compared',
      lines(3000).join('\n'),
      lines(3000)
        .map((line) => `${line}!`)
        .join('\n'),
    ],
  ])('make the whole text again: %s', (_, old, fresh) => {
    const diff = readDiff(unifiedDiff(old, fresh, names))
    expect(withHunks(old, diff, { hunks: diff.hunks.map(({ number }) => number) })).toBe(fresh)
    expect(withHunks(old, diff, { hunks: [] })).toBe(old)
  })

  it('do not fit a text that has changed', () => {
    const diff = readDiff(unifiedDiff(before, after, names))
    expect(withHunks(`new\n${before}`, diff, { hunks: [1] })).toBeUndefined()
    expect(withHunks(before.replace('line 39', '39'), diff, { hunks: [1] })).toBeUndefined()
  })

  it('are none in a diff of several files, and in one without text', () => {
    const one = unifiedDiff(before, after, names)
    expect(readDiff(`${one}diff --git a/b b/b\n${one}`).hunks).toEqual([])
    expect(readDiff('diff --git a/a b/b\nrename from a\nrename to b\n').hunks).toEqual([])
  })
})

it('a hunk that the user has edited is made as it was saved', () => {
  const diff = readDiff(unifiedDiff(before, after, names))
  const [first] = diff.hunks
  const text = hunkText(first!).replace('three', 'drei')
  const edits = [{ hunk: 1, text }]
  expect(withHunks(before, diff, { hunks: [1], edits })).toBe(before.replace('line 3\n', 'drei\n'))
  expect(editedText('a.txt', diff.hunks, { edits })).toBe(`The user made it otherwise: a.txt:3\n\n${text.trimEnd()}`)
})

describe('a decision about hunks', () => {
  const all = [1, 2, 3]

  it.each([
    ['all', { kind: 'approve', hunks: [3, 1, 2] }, 'allow'],
    ['none', { kind: 'approve', hunks: [] }, 'deny'],
    ['some', { kind: 'approve', hunks: [3, 1] }, { hunks: [1, 3] }],
    [
      'all but some',
      { kind: 'reject', hunks: [2], reason: 'no' },
      { hunks: [1, 3], remarks: [{ hunk: 2, text: 'no' }] },
    ],
    [
      'some, of which one is edited',
      { kind: 'approve', hunks: [1, 2, 3], edits: [{ hunk: 2, text: 'two\n' }] },
      { hunks: [1, 2, 3], edits: [{ hunk: 2, text: 'two\n' }] },
    ],
    [
      'some, with remarks about others',
      { kind: 'approve', hunks: [1], remarks: [{ hunk: 3, text: 'why?' }], reason: 'no' },
      {
        hunks: [1],
        remarks: [
          { hunk: 3, text: 'why?' },
          { hunk: 2, text: 'no' },
        ],
      },
    ],
  ] as const)('takes %s', (_, verdict, decision) => {
    expect(partDecision(verdict, all)).toEqual(decision)
  })

  it('refuses hunks that do not exist, and those that are accepted and rejected', () => {
    expect(() => partDecision({ kind: 'approve', hunks: [4] }, all)).toThrow(
      'there is no hunk 4 to decide: the change has 3 hunks',
    )
    expect(() => partDecision({ kind: 'reject', hunks: [1] }, [])).toThrow('the change can only be decided as a whole')
    const both = { kind: 'approve', hunks: [1], remarks: [{ hunk: 1, text: 'no' }] } as const
    expect(() => partDecision(both, all)).toThrow('hunk 1 is accepted, and has a remark about its rejection')
    const edited = { kind: 'approve', hunks: [1], edits: [{ hunk: 2, text: '' }] } as const
    expect(() => partDecision(edited, all)).toThrow('hunk 2 is edited, and is not one of those to make')
  })

  it('is told to a model with the line, the changed lines and the remark of each rejected hunk', () => {
    const { hunks } = readDiff(unifiedDiff(before, after, names))
    const told = rejectedText('a.txt', hunks, { hunks: [2], remarks: [{ hunk: 1, text: 'Keep it.' }] })
    expect(told).toBe(
      'Rejected: a.txt:3\n\n-line 3\n+three\n\nThey say:\n\nKeep it.\n\nRejected, without a remark: a.txt:39\n\n+new',
    )
  })
})
