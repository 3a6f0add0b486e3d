import { expect, it } from 'vitest'
import { wordsOf } from '../../../../src/cli/chat/slash/words.ts'

it.each([
  ['', []],
  ['  one   two ', ['one', 'two']],
  [`"one two" 'three "four"'`, ['one two', 'three "four"']],
  [String.raw`'it\'s' "say \"hi\"" a\\b`, ["it's", 'say "hi"', String.raw`a\b`]],
  ['"" x', ['', 'x']],
  [String.raw`C:\dir`, [String.raw`C:\dir`]],
])('the words of %j are %j', (text, words) => {
  expect(wordsOf(text).map((word) => word.text)).toEqual(words)
})

it('have positions that include their quotes', () => {
  const text = 'one "two three" four'
  expect(wordsOf(text).map(({ start, end }) => text.slice(start, end))).toEqual(['one', '"two three"', 'four'])
})

it('an unclosed quote is an error with its position', () => {
  expect(() => wordsOf('one "two')).toThrow(
    expect.objectContaining({ code: 'USAGE', message: 'the quote " at column 5 is not closed: "two' }),
  )
})
