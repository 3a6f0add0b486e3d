import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { textModule } from '../../../src/script/host/text.ts'
import { hostSection } from './host-section.ts'

const { call, wait } = hostSection('/')

function text(name: string, ...args: readonly LuaValue[]): readonly LuaValue[] {
  return call(textModule, name, ...args)
}

describe('aip.text', () => {
  it('consists of 20 functions, each of which returns nil for nil', () => {
    const names = Object.keys(textModule.functions)
    expect(names).toHaveLength(20)
    for (const name of names) expect(text(name, undefined), name).toEqual([undefined])
  })

  it.each(Object.keys(textModule.functions))('%s refuses a table as text', (name) => {
    expect(() => text(name, { a: 1 }, 'x', 'y')).toThrow(/^aip\.text\.\w+: .*but was table/)
  })

  it('treats null as nil, refuses booleans and numbers as text, and names the argument', () => {
    expect(text('trim', null)).toEqual([undefined])
    expect(() => text('trim', true)).toThrow('aip.text.trim: argument 1 must be a string or nil, but was boolean')
    expect(() => text('trim', 5)).toThrow('but was number')
    expect(() => text('split_first', 'a', undefined)).toThrow('the separator must be a string, but was nil')
  })

  it.each([
    ['trim', ' \t\u00A0\u3000x y\u0085\n', 'x y'],
    ['trim_start', '  x ', 'x '],
    ['trim_end', ' x \r\n', ' x'],
    ['trim', '\uFEFFx', '\uFEFFx'],
    ['trim', '   ', ''],
    ['trim', '', ''],
  ])('%s %j', (name, given, expected) => {
    expect(text(name, given)).toEqual([expected])
  })

  it('trims a megabyte of spaces inside a text quickly', () => {
    const long = `x${' '.repeat(1_000_000)}x`
    expect(text('trim', ` ${long} `)).toEqual([long])
  })

  it.each([
    ['hello', 10, undefined, 'hello'],
    ['hello world', 5, undefined, 'hello'],
    ['hello world', 8, '...', 'hello...'],
    ['hello world', 2, '...', '..'],
    ['hello', 0, '…', ''],
    ['hello', -1, undefined, ''],
    ['😀😀😀😀', 3, '…', '😀😀…'],
    ['', 3, '…', ''],
  ])('truncate %j to %d with %j', (given, most, ellipsis, expected) => {
    expect(text('truncate', given, most, ellipsis)).toEqual([expected])
  })

  it('truncate requires an integer', () => {
    expect(() => text('truncate', 'a', 1.5)).toThrow('the length must be a whole number, but was 1.5')
    expect(() => text('truncate', 'a', undefined)).toThrow('the length must be a whole number, but was nil')
    expect(text('truncate', 'abc', '2')).toEqual(['ab'])
  })

  it.each([
    ['split_first', 'some first content\n===\nsecond content', '===', ['some first content\n', '\nsecond content']],
    ['split_first', 'no match', '===', ['no match', undefined]],
    ['split_first', 'before===', '===', ['before', '']],
    ['split_first', 'a=b=c', '=', ['a', 'b=c']],
    ['split_last', 'line1\n==\nline2\n==\nline3', '==', ['line1\n==\nline2\n', '\nline3']],
    ['split_last', 'a', '', ['a', '']],
    ['split_first', 'a', '', ['', 'a']],
    ['split_first_line', 'line1\nSEP\nline2', 'SEP', ['line1', 'line2']],
    ['split_first_line', 'SEP\nline2', 'SEP', ['', 'line2']],
    ['split_first_line', 'line1\nSEP', 'SEP', ['line1', '']],
    ['split_first_line', 'SEP', 'SEP', ['', '']],
    ['split_first_line', '', 'SEP', ['', undefined]],
    ['split_first_line', 'line1\n\nline2', '', ['line1', 'line2']],
    ['split_first_line', '\nline2', '', ['', 'line2']],
    ['split_first_line', 'line1\n', '', ['line1\n', undefined]],
    ['split_first_line', 'line1\nSEP\nline2\nSEP\nline3', 'SEP', ['line1', 'line2\nSEP\nline3']],
    ['split_last_line', 'line1\nSEP\nline2\nSEP\nline3', 'SEP', ['line1\nSEP\nline2', 'line3']],
    ['split_first_line', 'a\r\nSEP\r\nb', 'SEP', ['a', 'b']],
    ['split_first_line', 'a SEP\n SEP', 'SEP', ['a SEP\n SEP', undefined]],
  ])('%s %j at %j', (name, given, separator, expected) => {
    expect(text(name, given, separator)).toEqual(expected)
  })

  it.each([
    ['remove_first_line', 'a\nb\nc', undefined, 'b\nc'],
    ['remove_first_line', 'a', undefined, ''],
    ['remove_first_lines', 'a\nb\nc', 2, 'c'],
    ['remove_first_lines', 'a\nb', 0, 'a\nb'],
    ['remove_first_lines', 'a\nb', 5, ''],
    ['remove_first_lines', 'a\nb', -1, ''],
    ['remove_last_line', 'a\nb\n', undefined, 'a\nb'],
    ['remove_last_line', 'a', undefined, ''],
    ['remove_last_lines', 'a\nb\nc', 2, 'a'],
    ['remove_last_lines', '\n\n', 2, ''],
    ['remove_last_lines', '\n\n', 3, ''],
    ['remove_last_lines', 'a\nb', 0, 'a\nb'],
    ['remove_last_lines', 'a\nb', -2, ''],
  ])('%s %j %d', (name, given, count, expected) => {
    expect(text(name, given, count)).toEqual([expected])
  })

  it.each([
    ['some- ! -path', { prefix: './', suffix: '.md' }, './some- ! -path.md'],
    [' ~ x', { prefix: ' ~ ' }, ' ~ x'],
    ['~ x', { prefix: ' ~ ' }, ' ~ ~ x'],
    ['x', {}, 'x'],
    ['', { prefix: 'a', suffix: 'b' }, 'ab'],
  ])('ensure %j %j', (given, options, expected) => {
    expect(text('ensure', given, options)).toEqual([expected])
  })

  it('ensure accepts only prefix and suffix', () => {
    expect(() => text('ensure', 'x', { start: '.' })).toThrow('there is no option "start"')
    expect(() => text('ensure', 'x')).toThrow('the options must be a table')
    expect(() => text('ensure', 'x', { prefix: true })).toThrow(
      'the option prefix must be a string or nil, but was boolean',
    )
  })

  it.each([
    ['', '\n'],
    ['x', 'x\n'],
    ['x\n', 'x\n'],
    ['x\n\n\n', 'x\n'],
    ['\n\n', '\n'],
  ])('ensure_single_trailing_newline %j, under both names', (given, expected) => {
    expect(text('ensure_single_trailing_newline', given)).toEqual([expected])
    expect(text('ensure_single_ending_newline', given)).toEqual([expected])
  })

  it('decodes entities, always or only if &lt; occurs, and loads the decoder only for a text that may contain one', async () => {
    expect(text('escape_decode', 'plain')).toEqual(['plain'])
    expect(await wait(textModule, 'escape_decode', '&amp; &eacute;')).toBe('& é')
    expect(text('escape_decode_if_needed', 'a &amp; b')).toEqual(['a &amp; b'])
    expect(await wait(textModule, 'escape_decode_if_needed', '&lt;a&gt; &amp;')).toBe('<a> &')
  })

  it('extract_line_blocks removes runs of lines, and returns the rest on request', () => {
    const content = '> one\n> two\nline1\n> three\nline2\n> four\nline3\n'
    expect(text('extract_line_blocks', content, { starts_with: '>', extrude: 'content', first: 2 })).toEqual([
      ['> one\n> two\n', '> three\n'],
      'line1\nline2\n> four\nline3\n',
    ])
    expect(text('extract_line_blocks', content, { starts_with: '>', first: 2 })).toEqual([
      ['> one\n> two\n', '> three\n'],
      undefined,
    ])
    expect(text('extract_line_blocks', content, { starts_with: '>' })[0]).toHaveLength(3)
    expect(text('extract_line_blocks', content, { starts_with: '>', first: 0, extrude: 'content' })).toEqual([
      [],
      content,
    ])
    expect(text('extract_line_blocks', '> last', { starts_with: '>', extrude: 'content' })).toEqual([['> last\n'], ''])
    expect(text('extract_line_blocks', '', { starts_with: '>' })).toEqual([[], undefined])
    expect(() => text('extract_line_blocks', content, {})).toThrow('the option starts_with is missing')
    expect(() => text('extract_line_blocks', content, { starts_with: '>', extrude: 'fragments' })).toThrow(
      'aip.text.extract_line_blocks: the option extrude must be "content", but was "fragments"',
    )
  })

  it('replace_markers inserts sections between the markers', () => {
    const content = 'a\n// <<START>>\nold\n// <<END>>\nb\n<<START>><<END>>\n<<END>>\nc\n'
    expect(text('replace_markers', content, ['one', { content: 'two' }])).toEqual(['a\none\nb\ntwo\nc\n'])
    expect(text('replace_markers', 'no markers', {})).toEqual(['no markers'])
    expect(text('replace_markers', '<<START>>\n<<END>>', 'x')).toEqual(['x'])
    expect(() => text('replace_markers', content, ['one'])).toThrow('more regions than the 1 sections')
    expect(() => text('replace_markers', content, ['1', '2', '3'])).toThrow('there are 2 regions, but 3 sections')
    expect(() => text('replace_markers', '<<END>>', [])).toThrow('has no <<START>>')
    expect(() => text('replace_markers', '<<START>>\n<<START>>', [])).toThrow('inside another region')
    expect(() => text('replace_markers', '<<START>>', [])).toThrow('has no <<END>>')
    expect(() => text('replace_markers', 'x', { a: 1 })).toThrow('must be a list, but was a table with keys')
  })

  it.each([
    [0, '     0 B '],
    [777, '   777 B '],
    [8777, '  8.78 KB'],
    [200_000, '200.00 KB'],
    [2_000_000, '  2.00 MB'],
    [1_234_567_890_123, '  1.23 TB'],
    [1e18, '1000.00 PB'],
    [-5, '     0 B '],
    [5n, '     5 B '],
  ])('format_size %d', (bytes, expected) => {
    expect(text('format_size', bytes)).toEqual([expected])
  })

  it('format_size uses the smallest unit, and trims on request', () => {
    expect(text('format_size', 777, 'KB')).toEqual(['  0.78 KB'])
    expect(text('format_size', 777, { lowest_unit: 'mb' })).toEqual(['  0.00 MB'])
    expect(text('format_size', 777, { trim: true })).toEqual(['777 B'])
    expect(text('format_size', 777, 'nonsense')).toEqual(['   777 B '])
    expect(() => text('format_size', '777')).toThrow('the size must be a number, but was string')
  })

  it('replaces invalid UTF-8 bytes', () => {
    expect(text('trim', new Uint8Array([0x20, 0xff, 0x61]))).toEqual(['\uFFFDa'])
  })
})
