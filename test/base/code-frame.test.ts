import { expect, it } from 'vitest'
import { codeFrame } from '../../src/base/code-frame.ts'

const text = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`).join('\n')

it('shows two lines before and after, and a caret below the column', () => {
  expect(codeFrame(text, { line: 9, column: 6 })).toMatchInlineSnapshot(`
    "   7 | line 7
       8 | line 8
    >  9 | line 9
         |      ^
      10 | line 10
      11 | line 11"
  `)
})

it('shows less at the beginning and the end of the file, and no caret without a column', () => {
  expect(codeFrame(text, { line: 1 }, { context: 1 })).toMatchInlineSnapshot(`
    "> 1 | line 1
      2 | line 2"
  `)
  expect(codeFrame(text, { line: 12 }, { context: 1 })).toMatchInlineSnapshot(`
    "  11 | line 11
    > 12 | line 12"
  `)
})

it('marks the last line for a position after the end', () => {
  expect(codeFrame('a\nb\n', { line: 3, column: 1 }, { context: 0 })).toBe('> 2 | b\n    | ^')
})

it('keeps tabs, so that the caret is below its character', () => {
  expect(codeFrame('\ta =\tx', { line: 1, column: 6 })).toBe('> 1 | \ta =\tx\n    | \t   \t^')
})

it('counts wide characters as two columns of the terminal', () => {
  expect(codeFrame('日本 x', { line: 1, column: 4 })).toBe('> 1 | 日本 x\n    |      ^')
  expect(codeFrame('e\u0301 x', { line: 1, column: 4 })).toBe('> 1 | e\u0301 x\n    |   ^')
})

it('truncates a long line around the column', () => {
  const line = `${'a'.repeat(500)}HERE${'b'.repeat(500)}`
  const [shown = '', caret = ''] = codeFrame(line, { line: 1, column: 501 }, { width: 40 }).split('\n')
  expect(shown).toBe(`> 1 | …${'a'.repeat(20)}HERE${'b'.repeat(15)}…`)
  expect(caret.indexOf('^')).toBe(shown.indexOf('HERE'))
})

it('truncates the end of a long line without a column', () => {
  expect(codeFrame('c'.repeat(50), { line: 1 }, { width: 10 })).toBe(`> 1 | ${'c'.repeat(10)}…`)
})

it('handles CRLF and makes control characters visible', () => {
  expect(codeFrame('a\u001b[31m\r\nb', { line: 1 }, { context: 1 })).toBe('> 1 | a␛[31m\n  2 | b')
})

it('puts carets below the whole range', () => {
  expect(codeFrame('key = "some value" # why', { line: 1, column: 7, endLine: 1, endColumn: 19 })).toBe(
    '> 1 | key = "some value" # why\n    |       ^^^^^^^^^^^^',
  )
  expect(codeFrame('日本 語語 x', { line: 1, column: 4, endLine: 1, endColumn: 6 })).toBe(
    '> 1 | 日本 語語 x\n    |      ^^^^',
  )
})

it('marks a range over several lines on its first line only', () => {
  expect(codeFrame('a = """one\ntwo"""', { line: 1, column: 5, endLine: 2, endColumn: 7 }, { context: 0 })).toBe(
    '> 1 | a = """one\n    |     ^^^^^^',
  )
})

it('ends the carets where a long line is truncated', () => {
  const [shown = '', carets = ''] = codeFrame(
    'd'.repeat(300),
    { line: 1, column: 11, endLine: 1, endColumn: 301 },
    { width: 20 },
  ).split('\n')
  expect(shown).toBe(`> 1 | ${'d'.repeat(20)}…`)
  expect(carets).toBe(`    | ${' '.repeat(10)}${'^'.repeat(11)}`)
})

it('shows one caret for an empty range, and for one that ends before it begins', () => {
  expect(codeFrame('abc', { line: 1, column: 4, endLine: 1, endColumn: 4 })).toBe('> 1 | abc\n    |    ^')
  expect(codeFrame('abc', { line: 1, column: 3, endLine: 1, endColumn: 1 })).toBe('> 1 | abc\n    |   ^')
})

it('shows the same part of a long line, at any column in it', () => {
  const frameAt = (length: number): string =>
    codeFrame(`${'a'.repeat(length)}\u0007fault${'b'.repeat(length)}\r\nnext`, {
      line: 1,
      column: length + 2,
      endLine: 1,
      endColumn: length + 7,
    })
  expect(frameAt(200)).toMatch(/^> 1 \| …a{49}␇faultb+…\n {4}\| {52}\^{5}\n {2}2 \| next$/)
  expect(frameAt(1_000_000)).toBe(frameAt(200))
})
