import { describe, expect, it } from 'vitest'
import { cutEnd, cutMiddle, cutStart, widthOf, wrapped } from '../../src/base/width.ts'

describe('the width of text', () => {
  it.each([
    ['', 0],
    ['plain', 5],
    ['äöü…·', 5],
    ['日本語', 6],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['😀', 2],
    ['🇩🇪', 4],
    ['e\u0301', 1],
    ['a\u200bb', 2],
    ['❤\ufe0f', 2],
    ['1\ufe0f\u20e3', 2],
    ['𠀋', 2],
    ['☰⚊', 4],
    ['①㈱', 3],
  ])('of %j is %d columns', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it('treats joined emoji as separately drawn, as some terminals do', () => {
    expect(widthOf('👩\u200d👩\u200d👧')).toBe(6)
  })
})

describe('truncating text', () => {
  it('does not change text that fits', () => {
    for (const cut of [cutEnd, cutStart, cutMiddle]) {
      expect(cut('abc', 3)).toBe('abc')
      expect(cut('日本', 4)).toBe('日本')
    }
  })

  it('never returns more columns than available', () => {
    const text = 'src/日本語/e\u0301😀/👩\u200d👧/file.ts'
    for (const cut of [cutEnd, cutStart, cutMiddle]) {
      for (let width = 0; width <= 40; width += 1) expect(widthOf(cut(text, width))).toBeLessThanOrEqual(width)
    }
  })

  it('keeps the start, the end, or both', () => {
    expect(cutEnd('src/render/live.ts', 10)).toBe('src/rende…')
    expect(cutStart('src/render/live.ts', 10)).toBe('…r/live.ts')
    expect(cutMiddle('src/render/live.ts', 10)).toBe('src/r…e.ts')
  })

  it('never separates a character from its marks', () => {
    expect(cutEnd('abe\u0301\u0302cd', 4)).toBe('abe\u0301\u0302…')
    expect(cutStart('abe\u0301cd', 4)).toBe('…e\u0301cd')
    expect(cutEnd('a日本', 3)).toBe('a…')
  })
})

it.each([
  ['short', 'short'],
  ['one two three four five', 'one two three\nfour five'],
  ['  one two three four', '  one two three\n  four'],
  ['/a N  one two three', '/a N  one two\n      three'],
  ['a first column  that is long', 'a first column\nthat is long'],
  ['a-word-that-is-longer than', 'a-word-that-is-longer\nthan'],
  ['日本 日本 日本 日本', '日本 日本 日本\n日本'],
  ['\u001b[1mone two\u001b[22m three four', '\u001b[1mone two\u001b[22m three\nfour'],
  ['one\ntwo', 'one\ntwo'],
  ['one two three four?: ', 'one two three\nfour?: '],
])('lines are broken at spaces: %j', (text, broken) => {
  expect(wrapped(text, 15)).toBe(broken)
})
