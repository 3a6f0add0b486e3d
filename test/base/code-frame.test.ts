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

it('shows less where the file begins and ends, and no caret without a column', () => {
  expect(codeFrame(text, { line: 1 }, { context: 1 })).toMatchInlineSnapshot(`
    "> 1 | line 1
      2 | line 2"
  `)
  expect(codeFrame(text, { line: 12 }, { context: 1 })).toMatchInlineSnapshot(`
    "  11 | line 11
    > 12 | line 12"
  `)
})

it('marks the last line for a position behind the end', () => {
  expect(codeFrame('a\nb\n', { line: 3, column: 1 }, { context: 0 })).toBe('> 2 | b\n    | ^')
})

it('keeps tabs, so that the caret stands below its character', () => {
  expect(codeFrame('\ta =\tx', { line: 1, column: 6 })).toBe('> 1 | \ta =\tx\n    | \t   \t^')
})

it('counts wide characters as two columns of the terminal', () => {
  expect(codeFrame('日本 x', { line: 1, column: 4 })).toBe('> 1 | 日本 x\n    |      ^')
})

it('cuts a long line around the column', () => {
  const line = `${'a'.repeat(500)}HERE${'b'.repeat(500)}`
  const [shown = '', caret = ''] = codeFrame(line, { line: 1, column: 501 }, { width: 40 }).split('\n')
  expect(shown).toBe(`> 1 | …${'a'.repeat(20)}HERE${'b'.repeat(15)}…`)
  expect(caret.indexOf('^')).toBe(shown.indexOf('HERE'))
})

it('cuts the end of a long line without a column', () => {
  expect(codeFrame('c'.repeat(50), { line: 1 }, { width: 10 })).toBe(`> 1 | ${'c'.repeat(10)}…`)
})

it('reads CRLF and makes control characters visible', () => {
  expect(codeFrame('a\u001b[31m\r\nb', { line: 1 }, { context: 1 })).toBe('> 1 | a␛[31m\n  2 | b')
})
