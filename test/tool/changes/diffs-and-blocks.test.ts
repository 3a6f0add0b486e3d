import { describe, expect, it } from 'vitest'
import { AnswerLines } from '../../../src/tool/changes/answer-lines.ts'
import {
  readBlock,
  readSearchBlocks,
  readUnifiedDiff,
  withJoinedDiffs,
} from '../../../src/tool/changes/diffs-and-blocks.ts'
import { directivesOf, type Piece, textPiece } from '../../../src/tool/changes/pieces.ts'

type Reader = typeof readUnifiedDiff

/** Reads with a reader where it finds something, and passes all other lines. */
function pieces(text: string, reader: Reader): readonly Piece[] {
  const lines = new AnswerLines(text)
  const written: Piece[] = []
  while (!lines.isOver) {
    if (reader(lines, written, { text })) continue
    written.push(textPiece(lines.line))
    lines.pass()
  }
  return written
}

function directives(text: string, reader: Reader) {
  return directivesOf(pieces(text, reader))
}

const diff = (content: string): string => `\`\`\`diff\n${content}\`\`\`\n`
const named = (path: string, hunks: string): string => diff(`--- a/${path}\n+++ b/${path}\n${hunks}`)
const block = (search: string, replace: string): string =>
  `<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`

describe('a unified diff in a fence', () => {
  it('may contain several files: changed, new, deleted and moved ones', () => {
    const text = diff(
      [
        '--- a/one.txt\n+++ b/one.txt\n@@ -1 +1 @@\n-a\n+b\n',
        '--- /dev/null\n+++ b/two.txt\n@@ -0,0 +1,2 @@\n+c\n+d\n',
        '--- a/three.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n',
        'diff --git a/four.txt b/five.txt\nrename from four.txt\nrename to five.txt\n',
      ].join(''),
    )
    expect(directives(text, readUnifiedDiff)).toEqual([
      { kind: 'Patch', filePath: 'one.txt', content: '@@ -1 +1 @@\n-a\n+b\n' },
      { kind: 'New', filePath: 'two.txt', content: 'c\nd\n' },
      { kind: 'Delete', filePath: 'three.txt' },
      { kind: 'Rename', fromPath: 'four.txt', filePath: 'five.txt' },
    ])
  })

  it('without names belongs to the file above it, whose line is then not text', () => {
    const written = pieces(`First.\n\nsrc/a.ts:\n${diff('@@ -1 +1 @@\n-a\n+b\n')}`, readUnifiedDiff)
    expect(directivesOf(written)).toMatchObject([{ kind: 'Patch', filePath: 'src/a.ts' }])
    expect(written.map(({ text }) => text).slice(0, -1)).toEqual(['First.\n', '\n'])
  })

  it.each([
    ['in a fence of another language', '```c\n--- not a diff\n```\n'],
    ['without hunks or names', diff('some text\n')],
    ['that never ends', '```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n'],
  ])('is not recognized %s', (_, text) => {
    expect(directives(text, readUnifiedDiff)).toEqual([])
  })

  it('fails without a hunk, or with marks of another form', () => {
    expect(directives(named('x', ''), readUnifiedDiff)).toMatchObject([{ kind: 'Fail', fault: 'malformed' }])
    const mixed = named('x', '@@ -1 +1 @@\n-a\n+b\n<FILE_NEW file_path="y">\n')
    expect(directives(mixed, readUnifiedDiff)).toMatchObject([{ kind: 'Fail', fault: 'mixed', filePath: 'x' }])
  })
})

describe('several diffs of one file', () => {
  const joined = (text: string) => directivesOf(withJoinedDiffs(pieces(text, readUnifiedDiff)))

  it('are one patch if their hunks do not overlap', () => {
    const text = named('x', '@@ -9 +9 @@\n-i\n+j\n') + named('x', '@@ -1 +1 @@\n-a\n+b\n')
    expect(joined(text)).toEqual([
      { kind: 'Patch', filePath: 'x', content: '@@ -9 +9 @@\n-i\n+j\n@@ -1 +1 @@\n-a\n+b\n' },
    ])
  })

  it.each([
    ['their hunks overlap', '@@ -1,2 +1,2 @@\n-a\n+b\n c\n', '@@ -2 +2 @@\n-c\n+d\n'],
    ['they are the same', '@@ -1 +1 @@\n-a\n+b\n', '@@ -1 +1 @@\n-a\n+b\n'],
    ['hunks without numbers are about the same line', '@@\n-a\n+b\n', '@@\n a\n+c\n'],
  ])('stay separate if %s', (_, first, second) => {
    expect(joined(named('x', first) + named('x', second))).toHaveLength(2)
  })

  it('stay separate if a deletion is between them', () => {
    const gone = diff('--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n')
    const text = named('x', '@@ -1 +1 @@\n-a\n+b\n') + gone + named('x', '@@ -9 +9 @@\n-i\n+j\n')
    expect(joined(text).map(({ kind }) => kind)).toEqual(['Patch', 'Delete', 'Patch'])
  })
})

describe('search and replace blocks', () => {
  it('belong to the file on the line above, which also applies to the next blocks', () => {
    const text = `src/a.ts\n${block('a\n', 'b\n')}\n${block('c\n', 'd\n')}lib/b.ts\n${block('e\n', 'f\n')}`
    const found = directives(text, readSearchBlocks)
    expect(found.map(({ kind, filePath }) => [kind, filePath])).toEqual([
      ['SearchReplace', 'src/a.ts'],
      ['SearchReplace', 'lib/b.ts'],
    ])
    expect(found[0]).toMatchObject({ content: expect.stringMatching(/a\n[^]*b\n[^]*c\n[^]*d\n/) as string })
  })

  it('in a fence may have their file after its language', () => {
    const text = `\`\`\`ts src/a.ts\n${block('a\n', 'b\n')}\`\`\`\n`
    expect(directives(text, readSearchBlocks)).toMatchObject([{ kind: 'SearchReplace', filePath: 'src/a.ts' }])
  })

  it('fail if no line names their file, or something else precedes them in a fence', () => {
    expect(directives(block('a\n', 'b\n'), readSearchBlocks)).toMatchObject([{ kind: 'Fail', fault: 'lookalike' }])
    const text = `src/a.ts\n\`\`\`\n${block('a\n', 'b\n')}and so on!\n\`\`\`\n`
    expect(directives(text, readSearchBlocks)).toContainEqual(
      expect.objectContaining({
        kind: 'Fail',
        filePath: 'src/a.ts',
        reason: expect.stringContaining('and so on!') as string,
      }),
    )
  })

  it('in a fence with prose before them are a quotation', () => {
    const text = `\`\`\`\nThis is how.\n${block('a\n', 'b\n')}\`\`\`\n`
    const lines = new AnswerLines(text)
    expect(readSearchBlocks(lines, [], { text })).toBe(false)
    expect(lines.at).toBe(0)
  })

  it('fail without an end or a middle, and parsing continues afterwards', () => {
    const open = new AnswerLines('<<<<<<< SEARCH\na\n=======\nb\nrest\n')
    expect(readBlock(open)).toMatchObject({
      kind: 'Fail',
      reason: expect.stringContaining('no line >>>>>>> REPLACE') as string,
    })
    expect(open.line).toBe('b\n')
    const undivided = new AnswerLines('<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n')
    expect(readBlock(undivided)).toMatchObject({
      kind: 'Fail',
      reason: expect.stringContaining('no line =======') as string,
    })
    expect(undivided.line).toBe('a\n')
  })
})
