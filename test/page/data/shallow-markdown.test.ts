import { Marked } from 'marked'
import { expect, it } from 'vitest'
import { shallowMarkdown, shallowMarkup } from '../../../src/page/data/shallow-markdown.ts'

const marked = new Marked({ async: false, gfm: true })

/** How deep the elements of a page are nested. */
function depthOf(markup: string): number {
  let [level, deepest] = [0, 0]
  for (const [, slash] of markup.matchAll(/<(\/?)(?!br|hr|img|input)[a-z]/g)) {
    level += slash === '/' ? -1 : 1
    deepest = Math.max(deepest, level)
  }
  return deepest
}

const indented = Array.from({ length: 500 }, (_, level) => `${' '.repeat(2 * level)}- a`).join('\n')

it.each([
  ['quotes', '> '.repeat(72_000)],
  ['quotes in lists', '> - '.repeat(50_000)],
  ['numbered lists', '1. '.repeat(90_000)],
  ['lists by their indentation', indented],
  ['tags', '<b>'.repeat(100_000)],
  ['blocks', '<div>\n'.repeat(40_000)],
  ['emphasis', `${'*'.repeat(50_000)}a${'*'.repeat(50_000)}`],
  ['links', '[a'.repeat(50_000) + '](b)'.repeat(50_000)],
])('%s that are nested too deeply are shown truncated, with the text before them', (_kind, deep) => {
  const markup = shallowMarkup(marked.parse(shallowMarkdown(`before\n\n${deep}`), { async: false }))
  expect(markup).toContain('… (cut: nested deeper than 50 levels)')
  expect(markup).toContain('<p>before</p>')
  expect(depthOf(markup)).toBeLessThan(110)
})

it('other texts are unchanged', () => {
  const list = Array.from({ length: 2000 }, (_, item) => `- **item ${item}** [link](a) *b* <b>c</b><br>`).join('\n')
  const text = `# Title\n\n> > quoted\n> - item\n>   1. one\n\n${list}\n\n***\n${'-'.repeat(2000)}\n\n| a | b |\n| - | - |\n`
  expect(shallowMarkdown(text)).toBe(text)
  const code = `\`\`\`ts\n${'Map<K, V>[] ** '.repeat(2000)}\n${'> '.repeat(100)}\n\`\`\`\n\n${'1. '.repeat(20)}a\n`
  expect(shallowMarkdown(code)).toBe(code)
  const markup = marked.parse(code + text, { async: false })
  expect(shallowMarkup(markup)).toBe(markup)
})
