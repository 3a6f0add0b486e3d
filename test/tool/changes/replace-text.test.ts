import { expect, it } from 'vitest'
import { replaceText } from '../../../src/tool/changes/edits.ts'

interface Asked {
  readonly search: string
  readonly replace: string
  readonly all?: boolean
}

function replace(text: string, { search, replace: put, all = false }: Asked): string | ReturnType<typeof replaceText> {
  const result = replaceText(text, { search, replace: put, all })
  return result.kind === 'replaced' ? result.content : result
}

it('replaces a text that occurs once, inside of lines and across them', () => {
  expect(replace('const a = 1\nconst b = 2\n', { search: 'b = 2', replace: 'b = 3' })).toBe(
    'const a = 1\nconst b = 3\n',
  )
  expect(replace('a\nb\nc\n', { search: 'a\nb', replace: 'x' })).toBe('x\nc\n')
  expect(replace('$1 and $&\n', { search: '$1', replace: '$& $$' })).toBe('$& $$ and $&\n')
})

it('reports all places when it occurs several times, also overlapping ones', () => {
  expect(replace('x\ny\nx\nx', { search: 'x', replace: 'z' })).toEqual({ kind: 'several', lines: [1, 3, 4] })
  expect(replace('aaa', { search: 'aa', replace: 'b' })).toEqual({ kind: 'several', lines: [1, 1] })
  expect(replace('aaa', { search: 'aa', replace: 'b', all: true })).toBe('ba')
  expect(replace('x\ny\nx\n', { search: 'x', replace: 'z\nz', all: true })).toBe('z\nz\ny\nz\nz\n')
})

it('returns the lines of the new text', () => {
  const result = replaceText('x\ny\nx\nlast\n', { search: 'x\n', replace: '1\n2\n', all: true })
  expect(result).toMatchObject({
    places: [
      { line: 1, count: 2 },
      { line: 4, count: 2 },
    ],
  })
  expect(replaceText('a b c\n', { search: 'b ', replace: '', all: false })).toMatchObject({
    content: 'a c\n',
    places: [{ line: 1, count: 0 }],
  })
})

it('finds a text with any line breaks, and keeps those of the file', () => {
  expect(replace('a\r\nb\r\nc\r\n', { search: 'a\nb', replace: 'x\ny\nz' })).toBe('x\r\ny\r\nz\r\nc\r\n')
  expect(replace('a\nb\nc\n', { search: 'a\r\nb', replace: 'x' })).toBe('x\nc\n')
  expect(replace('a\r\nb\nc\r\nd\r\n', { search: 'b\nc\n', replace: 'B\nC\n' })).toBe('a\r\nB\r\nC\r\nd\r\n')
  expect(replace('\uFEFFa\r\nb', { search: 'a', replace: 'x' })).toBe('\uFEFFx\r\nb')
  expect(replace('a\r\n\r\nb\r\n', { search: '\n\nb', replace: ' b' })).toBe('a b\r\n')
})

it('finds the last line even with a line break that it lacks', () => {
  expect(replace('a\nlast', { search: 'last\n', replace: 'new\n' })).toBe('a\nnew')
  expect(replace('a\nlast', { search: 'a\nlast\n', replace: '' })).toBe('')
  expect(replace('a\nlast', { search: 'lost\n', replace: 'new\n' })).toEqual({ kind: 'missing' })
  expect(replace('a', { search: '\n', replace: 'b' })).toEqual({ kind: 'missing' })
})

it('removes the line break of removed lines', () => {
  expect(replace('a\nb\nc\n', { search: 'b', replace: '' })).toBe('a\nc\n')
  expect(replace('a\r\nb\r\nc\r\n', { search: 'b', replace: '' })).toBe('a\r\nc\r\n')
  expect(replace('a\nb\nc\n', { search: 'b\n', replace: '' })).toBe('a\nc\n')
  expect(replace('a\nbc\n', { search: 'b', replace: '' })).toBe('a\nc\n')
})

it('does nothing if nothing would change', () => {
  expect(replace('a\n', { search: 'a', replace: 'a' })).toEqual({ kind: 'same' })
  expect(replace('a\r\nb\r\n', { search: 'a\r\nb', replace: 'a\nb' })).toEqual({ kind: 'same' })
})

it('takes linear time', () => {
  const text = 'a'.repeat(400_000)
  expect(replace(text, { search: `${'a'.repeat(100_000)}b`, replace: 'c' })).toEqual({ kind: 'missing' })
})
