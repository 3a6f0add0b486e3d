import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { guarded } from '../../src/base/terminal-text.ts'
import { createMarkdownFlow, markdownText } from '../../src/render/markdown.ts'
import { createPaint } from '../../src/render/style.ts'
import { randomFrom } from '../helpers/shell-lines.ts'

const plain = createPaint({ env: { NO_COLOR: '1' }, isTerminal: true })
const colored = createPaint({ env: { FORCE_COLOR: '1' }, isTerminal: true })
const bold = (text: string): string => colored('bold', text)

function shown(text: string, paint = colored, width = 80): string {
  return markdownText(text, { paint, columns: () => width })
}

/** What is seen, without colors. */
function seen(text: string, width = 80): string {
  return stripVTControlCharacters(shown(text, colored, width))
}

/** The text shown for pieces of any size. */
function streamed(pieces: readonly string[]): string {
  let text = ''
  const flow = createMarkdownFlow((part) => (text += part), { paint: colored, columns: () => 80 })
  for (const piece of pieces) flow.add(piece)
  flow.end()
  return text
}

describe('Markdown on a terminal', () => {
  it('shows emphasis, code and links by color, and their marks only where they are not needed', () => {
    expect(seen('Some **bold**, *emph*, ~~old~~ and `a_b` in a [link](https://a.example/x).')).toBe(
      'Some bold, emph, old and a_b in a link (https://a.example/x).',
    )
    expect(shown('**b**')).toBe(bold('b'))
    expect(seen('see https://a.example and <https://b.example>')).toBe('see https://a.example and <https://b.example>')
    expect(seen('![a plan](x.png)')).toBe('[a plan: x.png]')
  })

  it('keeps the marks of headings, lists and quotes', () => {
    expect(seen('# Title\n\n- one\n  2. two\n- [x] done\n> said\n---')).toBe(
      '# Title\n\n- one\n  2. two\n- [x] done\n> said\n---',
    )
  })

  it('leaves code as it is, also what looks like Markdown or a table in it', () => {
    const code = '```ts\nconst a = 1 // **no**\n| a | b |\n| - | - |\n  # x\n```'
    expect(seen(code)).toBe(code)
    expect(seen('`````\n```\n**x**\n`````\n**x**')).toBe('`````\n```\n**x**\n`````\nx')
    expect(seen('__init__ of snake_case_name, 2 * a * b')).toBe('__init__ of snake_case_name, 2 * a * b')
  })

  it('leaves data as it is', () => {
    const json = '{\n  "a": "**b**",\n  "c": [1, 2]\n}'
    expect(seen(json)).toBe(json)
  })

  it('aligns the columns of tables, and shows one that is too wide as it is written', () => {
    const table = '| a | count |\n| --- | ---: |\n| **one** | 1 |\n| 日本 | 22 |\nafter'
    expect(seen(table)).toBe('a     count\n────  ─────\none       1\n日本     22\nafter')
    expect(shown(table, plain)).toBe('a        count\n───────  ─────\n**one**      1\n日本        22\nafter')
    expect(seen(`| a | b |\n| - | - |\n| ${'x'.repeat(30)} | y |`, 30)).toContain(`| ${'x'.repeat(30)} | y |`)
    expect(seen('| only | a row |')).toBe('| only | a row |')
  })

  it('breaks lines at words, in the width of the terminal, with the text of an item below its text', () => {
    expect(seen('one two three four five six', 21)).toBe('one two three four\nfive six')
    expect(seen('- one two three four five six', 21)).toBe('- one two three four\n  five six')
    expect(seen('> one two three four five six', 21)).toBe('> one two three four\n> five six')
    expect(seen(`a ${'x'.repeat(50)} b`, 21)).toBe(`a\n${'x'.repeat(50)}\nb`)
  })

  it('without color all marks stay', () => {
    const text = '# Title\nSome **bold** and `code`, [a](b).\n> q\n* item'
    expect(shown(text, plain)).toBe(text)
  })

  it('looks the same in pieces of any size', () => {
    const text = '# T\n\ntext **b** `c`\n\n```\ncode\n```\n| a | b |\n|-|-|\n| 1 | 2 |\n\n- x\r\n- y'
    const random = randomFrom(3)
    for (let round = 0; round < 50; round += 1) {
      const pieces: string[] = []
      for (let at = 0; at < text.length;) {
        const end = at + 1 + random(9)
        pieces.push(text.slice(at, end))
        at = end
      }
      expect(streamed(pieces)).toBe(streamed([text]))
    }
  })

  it('shows whole lines as soon as they are complete, except for tables', () => {
    const writes: string[] = []
    const flow = createMarkdownFlow((part) => writes.push(part), { paint: plain, columns: () => 80 })
    flow.add('one\ntwo')
    expect(writes).toEqual(['one\n'])
    flow.add('\n| a | b |\n')
    expect(writes).toEqual(['one\n', 'two\n'])
  })

  it('nothing that a model writes is obeyed by the terminal', () => {
    const random = randomFrom(11)
    const parts = [
      '\u001b[2J',
      '\u001b]0;x\u0007',
      '\u009b31m',
      '\u001b[31m',
      '\u0007',
      '\u202e',
      '\r',
      '\u001b',
      '[3m',
      '\u{e0041}',
      '**',
      '`',
      '*',
      '[a](',
      ')',
      '| ',
      '\n',
      '# ',
      '- ',
      '> ',
      '```',
      ' ',
      'x',
      '\\',
      '&#27;[2J',
      '&#x1b;',
      '<b>',
    ]
    for (let round = 0; round < 1000; round += 1) {
      const text = Array.from({ length: 1 + random(20) }, () => parts[random(parts.length)] ?? '').join('')
      const safe = shown(text)
      // only our own colors are left, and these are what a terminal gets
      expect(guarded(safe), JSON.stringify(text)).toBe(safe)
      expect(stripVTControlCharacters(safe), JSON.stringify(text)).not.toMatch(/[^\P{Cc}\n\t]/u)
    }
  })

  it('loses no word, and takes little time for odd texts', () => {
    const random = randomFrom(5)
    const marks = ['**', '*', '_', '`', '[', '](u)', '![', '|', '\n', '\n\n', '- ', '1. ', '> ', '~~', '<', '\\', ' ']
    for (let round = 0; round < 500; round += 1) {
      const words: string[] = []
      const text = Array.from({ length: 30 }, (_, at) => {
        if (random(2) === 0) return marks[random(marks.length)] ?? ''
        words.push(`w${at}x`)
        return `w${at}x`
      }).join('')
      const all = seen(text)
      for (const word of words) expect(all, JSON.stringify(text)).toContain(word)
    }
    const begin = performance.now()
    for (const odd of [
      '[',
      '*a ',
      '**a',
      '`',
      '![',
      '> ',
      '- ',
      '|a',
      '_a',
      '<a',
      '[a](',
      '~~',
      '&',
      'http://a.',
      '\\',
    ])
      shown(odd.repeat(4_000).replaceAll(/(.{1990})/g, '$1\n'))
    expect(performance.now() - begin).toBeLessThan(20_000)
  })
})
