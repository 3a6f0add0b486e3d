import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { tagModule } from '../../../src/script/host/tag.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection('/')
const sample = 'Prefix <A>one</A> middle <B>two</B> suffix'

function tag(name: string, ...args: readonly LuaValue[]): readonly LuaValue[] {
  return host.call(tagModule, name, ...args)
}

function element(name: string, content: string, attrs?: Record<string, string>): LuaValue {
  return { tag: name, attrs, content }
}

describe('aip.tag', () => {
  it('returns elements in text order, and the rest on request (vector 65)', () => {
    const elements = [element('A', 'one'), element('B', 'two')]
    expect(tag('extract', sample, ['A', 'B'], { extrude: 'content' })).toEqual([elements, 'Prefix  middle  suffix'])
    expect(tag('extract', sample, ['B', 'A'])).toEqual([elements])
    expect(tag('extract', sample, ' A ')).toEqual([[element('A', 'one')]])
  })

  it('returns the last, or all, of each name (vector 66)', () => {
    const text = `${sample} <A>three</A>`
    const extrude = { extrude: 'content' }
    expect(tag('extract_as_map', text, ['A', 'B'])).toEqual([{ A: element('A', 'three'), B: element('B', 'two') }])
    expect(tag('extract_as_multi_map', text, ['A', 'B'], extrude)).toEqual([
      { A: [element('A', 'one'), element('A', 'three')], B: [element('B', 'two')] },
      'Prefix  middle  suffix ',
    ])
    expect(tag('extract_as_map', 'none', 'A', extrude)).toEqual([{}, 'none'])
  })

  it('parses attributes in every notation', () => {
    const text = `<F path="a b.md" mode='x>"y' flag n=1 empty="" \n é = "ü">c</F>`
    expect(tag('extract', text, 'F')).toEqual([
      [element('F', 'c', { path: 'a b.md', mode: 'x>"y', flag: '', n: '1', empty: '', é: 'ü' })],
    ])
  })

  it('accepts self-closing elements', () => {
    expect(tag('extract', '<A/><A x="1" />b<A y=2/>', 'A', { extrude: 'content' })).toEqual([
      [element('A', ''), element('A', '', { x: '1' }), element('A', '', { y: '2' })],
      'b',
    ])
  })

  it('distinguishes names by case and length', () => {
    const text = '<a>1</a><AB>2</AB><A >3</A><A-B>4</A-B>'
    expect(tag('extract', text, ['A', 'A-B'])).toEqual([[element('A', '3'), element('A-B', '4')]])
  })

  it('preserves the content: white space, other tags, the same tag', () => {
    expect(tag('extract', '<A>\n <B>x</B>\n</A>', ['A', 'B'])).toEqual([[element('A', '\n <B>x</B>\n')]])
    expect(tag('extract', '<A>1<A>2</A>3</A>', 'A', { extrude: 'content' })).toEqual([[element('A', '1<A>2')], '3</A>'])
  })

  it('keeps unclosed tags as text, and continues after them', () => {
    expect(tag('extract', '<A>open <B>two</B> <A', ['A', 'B'], { extrude: 'content' })).toEqual([
      [element('B', 'two')],
      '<A>open  <A',
    ])
  })

  it('handles large texts', () => {
    const open = '<A x="1" y>'.repeat(50_000)
    expect(tag('extract', `${open}<B>end</B>`, ['A', 'B'])).toEqual([[element('B', 'end')]])
    expect((tag('extract', '<A>é</A>'.repeat(50_000), 'A')[0] as LuaValue[]).length).toBe(50_000)
    expect(tag('extract', '', 'A', { extrude: 'content' })).toEqual([[], ''])
  })

  it('refuses wrong arguments', () => {
    expect(() => tag('extract', undefined, 'A')).toThrow('aip.tag.extract: the text must be a string, but was nil')
    expect(() => tag('extract', 'x', undefined)).toThrow('the tag names must be a string or a list of strings')
    expect(() => tag('extract', 'x', [])).toThrow('the tag names must not be empty')
    expect(() => tag('extract_as_map', 'x', ['A', ' '])).toThrow('a tag name must not be empty')
    expect(() => tag('extract', 'x', 'A', { extrude: 'fragments' })).toThrow('must be "content", but was "fragments"')
  })

  it('returns a second value to Lua only with extrude', async () => {
    const code = `
      local blocks, rest = aip.tag.extract("a<A k='v'>1</A>", "A")
      local map = aip.tag.extract_as_map("a<A>1</A>", {"A"}, { extrude = "content" })
      return { #blocks, blocks[1].attrs.k, rest == nil, map.A.attrs == nil }
    `
    expect(await runLua(host, code)).toEqual([1, 'v', true, true])
  })
})
