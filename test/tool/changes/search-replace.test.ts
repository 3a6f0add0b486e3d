import { describe, expect, it } from 'vitest'
import { applySearchReplace } from '../../../src/tool/changes/search-replace.ts'

function block(search: string, replace: string): string {
  const part = (text: string): string => (text === '' ? '' : `${text}\n`)
  return `<<<<<<< SEARCH\n${part(search)}=======\n${part(replace)}>>>>>>> REPLACE\n`
}

function changed(content: string, ...blocks: readonly (readonly [string, string])[]): string {
  const result = applySearchReplace(content, blocks.map(([search, replace]) => block(search, replace)).join('\n  \n'))
  expect(result).toMatchObject({ changedCount: blocks.length, failures: [] })
  return result.content
}

describe('applySearchReplace', () => {
  it('replaces the first occurrence in the result of the previous block (vector 55)', () => {
    expect(changed('one two three two one', ['one', '1'], ['two', '2'], ['three', '3'])).toBe('1 2 3 two one')
    expect(changed('a', ['a', 'b'], ['b', 'c'])).toBe('c')
  })

  it('uses text without marker lines as the whole content (vector 56)', () => {
    for (const text of ['Hallo', '', 'Title\n=======\n', ' <<<<<<< SEARCH\n', '<<<<<<< SEARCH \nx']) {
      expect(applySearchReplace('Hello', text)).toEqual({ content: text, changedCount: 1, failures: [] })
    }
  })

  it('inserts at the start for an empty search and removes for an empty replacement (vector 57)', () => {
    expect(changed('abc', ['', 'X'])).toBe('Xabc')
    expect(changed('', ['', 'X'])).toBe('X')
    expect(changed('delete this text now', ['this text', ''])).toBe('delete  now')
    expect(changed('line one\nline two\nline three\n', ['line two', ''])).toBe('line one\nline three\n')
  })

  it('removes the line break only with whole lines', () => {
    expect(changed('a foo\nb', [' foo', ''])).toBe('a\nb')
    expect(changed('foo a\nb', ['foo ', ''])).toBe('a\nb')
    expect(changed('a\nb', ['b', ''])).toBe('a')
    expect(changed('a\nb\nc\nd\n', ['b\nc', ''])).toBe('a\nd\n')
    expect(changed('a', ['a', ''])).toBe('')
    expect(changed('a\r\nb\r\nc\r\n', ['b', ''])).toBe('a\r\nc\r\n')
  })

  it('counts blocks that are not found (vector 58)', () => {
    expect(applySearchReplace('one two three', `${block('two', '2')}${block('four', '4')}`)).toEqual({
      content: 'one 2 three',
      changedCount: 1,
      failures: [{ search: 'four', replace: '4', reason: 'Search block not found in content' }],
    })
  })

  it('refuses more blocks than can be searched in a text of such a length', () => {
    const content = 'a'.repeat(2_000_000)
    const changes = block('b', 'c').repeat(1001)
    expect(() => applySearchReplace(content, changes)).toThrow(
      '1001 blocks for a text of 2000000 characters, at most 1000',
    )
  })

  it('refuses text around blocks and missing markers (vector 59)', () => {
    const good = block('a', 'b')
    const refused = (text: string): void =>
      expect(() => applySearchReplace('a', text)).toThrow('the changes cannot be read')
    refused(`Preamble\n${good}`)
    refused(`${good}between\n${good}`)
    refused(`${good}after`)
    refused('<<<<<<< SEARCH\na\n======= \nb\n>>>>>>> REPLACE\n')
    refused('<<<<<<< SEARCH\na\n')
    refused('<<<<<<< SEARCH\na\n=======\nb\n')
    refused('<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n')
    expect(() => applySearchReplace('a', `${good}after`)).toThrow('line 6 is outside a block: after')
    expect(() => applySearchReplace('a', '<<<<<<< SEARCH\na\n')).toThrow('has no line "=======" after line 1')
  })

  it('lets the content decide between several separators, and counts an undecided block', () => {
    const title = 'Title\n=======\n\ntext\n'
    expect(changed(title, ['Title\n=======\n\ntext', 'Title\n=======\n\nTEXT'])).toBe('Title\n=======\n\nTEXT\n')
    expect(changed('text\n', ['text', 'text\n\nTitle\n=======\nmore'])).toBe('text\n\nTitle\n=======\nmore\n')
    expect(changed('in a text\n', ['a text', 'Title\n=======\nx'])).toBe('in Title\n=======\nx\n')
    const { content, failures } = applySearchReplace(title, block('Title\n=======\n\ntezt', 'x'))
    expect(content).toBe(title)
    expect(failures).toEqual([
      {
        search: 'Title\n=======\n\ntezt\n=======\nx',
        replace: '',
        reason: expect.stringMatching(/^Search block is ambiguous: any of its lines 2 and 5/),
      },
    ])
  })

  it('keeps the line breaks of the content when blocks have others', () => {
    expect(changed('a\r\nb\r\nc\r\n', ['a\nb', 'x\ny'])).toBe('x\r\ny\r\nc\r\n')
    expect(applySearchReplace('a\nb\n', block('a\nb', 'c\nd').replaceAll('\n', '\r\n')).content).toBe('c\nd\n')
  })

  it('treats text literally: patterns, Unicode and blank lines', () => {
    expect(changed('x.*$& y', ['.*$&', '$1$&'])).toBe('x$1$& y')
    expect(changed('Grüße 👋\n', ['👋', '日本'])).toBe('Grüße 日本\n')
    expect(changed('a\n\nb', ['a\n\n', 'c\n\n'])).toBe('c\n\nb')
  })

  it('handles large content', () => {
    const content = 'line of text\n'.repeat(50_000)
    expect(changed(`${content}last`, ['last', 'end'])).toBe(`${content}end`)
  })
})
