import { describe, expect, it } from 'vitest'
import { harmlessLines, harmlessName, harmlessTyped } from '../../src/base/terminal-text.ts'

const unseen = {
  'a zero-width space': ['\u200b', '<U+200B>'],
  'a soft hyphen': ['\u00ad', '<U+00AD>'],
  'a variation selector': ['\ufe0f', '<U+FE0F>'],
  'a variation selector of the supplement': ['\u{e0101}', '<U+E0101>'],
  'a tag': ['\u{e0041}', '<U+E0041>'],
  'a change of direction': ['\u202e', '<U+202E>'],
  'an isolate': ['\u2066', '<U+2066>'],
  'a no-break space': ['\u00a0', '<U+00A0>'],
  'an ideographic space': ['\u3000', '<U+3000>'],
  'a Hangul filler': ['\u3164', '<U+3164>'],
  'a blank Braille pattern': ['\u2800', '<U+2800>'],
  'a grapheme joiner': ['\u034f', '<U+034F>'],
  'a mark of a musical beam': ['\u{1d173}', '<U+1D173>'],
  'a line separator': ['\u2028', '<U+2028>'],
  'a C1 control': ['\u009b', '<U+009B>'],
  'half a pair': ['\ud800', '<U+D800>'],
  'a code of a color': ['\u001b[8m', '␛[8m'],
  'a line break': ['\n', '␊'],
} as const

describe('harmlessName', () => {
  it.each(Object.entries(unseen))('shows %s', (_, [character, form]) => {
    expect(harmlessName(`a${character}b`)).toBe(`a${form}b`)
  })

  it('keeps letters of all scripts, marks and plain emoji', () => {
    const text = 'naïve Straße 日本語 العربية हिन्दी e\u0301 👍 $\\'
    expect(harmlessName(text)).toBe(text)
  })
})

describe('harmlessLines', () => {
  it('keeps line breaks and tabs', () => {
    expect(harmlessLines('a\tb\r\nc\u200b')).toBe('a\tb\nc<U+200B>')
  })
})

describe('harmlessTyped', () => {
  it('keeps emoji that consist of several characters', () => {
    const text = '👩‍💻 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿'
    expect(harmlessTyped(text)).toBe(text)
    expect(harmlessTyped('a\u200db\ufe0f')).toBe('a<U+200D>b<U+FE0F>')
  })
})
