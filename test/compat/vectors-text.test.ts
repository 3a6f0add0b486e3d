import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { luaCall, luaResult } from './lua-calls.ts'

type Case = readonly [name: string, args: readonly Json[], expected: readonly Json[]]

async function expectCalls(module: string, cases: readonly Case[]): Promise<void> {
  for (const [name, args, expected] of cases) {
    expect(await luaCall(`${module}.${name}`, args), `${name} ${JSON.stringify(args)}`).toEqual(expected)
  }
}

const blocks = '> one\n> two\nline1\n> three\nline2\n> four\nline3\n'

describe('vectors of aip.text', () => {
  it('32, 33, 34: split_first and split_last', () =>
    expectCalls('text', [
      ['split_first', ['some first content\n===\nsecond content', '==='], ['some first content\n', '\nsecond content']],
      ['split_first', ['no such thing', '==='], ['no such thing']],
      ['split_first', ['before===', '==='], ['before', '']],
      ['split_last', ['line1\n==\nline2\n==\nline3', '=='], ['line1\n==\nline2\n', '\nline3']],
    ]))

  it('35, 36, 37: split_first_line and split_last_line', () =>
    expectCalls('text', [
      ['split_first_line', ['line1\nSEP\nline2', 'SEP'], ['line1', 'line2']],
      ['split_first_line', ['SEP\nline2', 'SEP'], ['', 'line2']],
      ['split_first_line', ['line1\nSEP', 'SEP'], ['line1', '']],
      ['split_first_line', ['SEP', 'SEP'], ['', '']],
      ['split_first_line', ['', 'SEP'], ['']],
      ['split_first_line', ['line1\n\nline2', ''], ['line1', 'line2']],
      ['split_first_line', ['\nline2', ''], ['', 'line2']],
      ['split_first_line', ['line1\n', ''], ['line1\n']],
      ['split_first_line', ['line1\nSEP\nline2\nSEP\nline3', 'SEP'], ['line1', 'line2\nSEP\nline3']],
      ['split_last_line', ['line1\nSEP\nline2\nSEP\nline3', 'SEP'], ['line1\nSEP\nline2', 'line3']],
    ]))

  it('38: ensure', () =>
    expectCalls('text', [
      ['ensure', ['some- ! -path', { prefix: './', suffix: '.md' }], ['./some- ! -path.md']],
      ['ensure', [' ~ x', { prefix: ' ~ ' }], [' ~ x']],
      ['ensure', ['~ x', { prefix: ' ~ ' }], [' ~ ~ x']],
    ]))

  it('39, 40: extract_line_blocks with and without the rest', () =>
    expectCalls('text', [
      [
        'extract_line_blocks',
        [blocks, { starts_with: '>', extrude: 'content', first: 2 }],
        [['> one\n> two\n', '> three\n'], 'line1\nline2\n> four\nline3\n'],
      ],
      ['extract_line_blocks', [blocks, { starts_with: '>', first: 2 }], [['> one\n> two\n', '> three\n']]],
    ]))

  it('41: every function returns nil for nil', async () => {
    const code = `
      local count, wrong = 0, {}
      for name, call in pairs(aip.text) do
        count = count + 1
        local ok, value = pcall(call, nil)
        if not ok or value ~= nil then wrong[#wrong + 1] = name end
      end
      return { count = count, wrong = table.concat(wrong, " ") }`
    expect(await luaResult(code)).toEqual({ count: 20, wrong: '' })
  })

  it('42: format_size', () =>
    expectCalls('text', [
      ['format_size', [0], ['     0 B ']],
      ['format_size', [777], ['   777 B ']],
      ['format_size', [8777], ['  8.78 KB']],
      ['format_size', [200_000], ['200.00 KB']],
      ['format_size', [2_000_000], ['  2.00 MB']],
      ['format_size', [1_234_567_890_123], ['  1.23 TB']],
    ]))

  it('43: remove_last_line', () => expectCalls('text', [['remove_last_line', ['a\nb\n'], ['a\nb']]]))
})

describe('vectors of aip.path', () => {
  it('44: parent', () =>
    expectCalls('path', [
      ['parent', ['./agent-hello.aipack'], ['.']],
      ['parent', ['./'], ['']],
      ['parent', ['.'], ['']],
      ['parent', ['./sub-dir/file.txt'], ['./sub-dir']],
      ['parent', ['./sub-dir/'], ['.']],
      ['parent', ['./sub-dir'], ['.']],
    ]))

  it('45, 46: join', () =>
    expectCalls('path', [
      ['join', ['./', 'file.txt'], ['./file.txt']],
      ['join', ['', ['my-dir/', '//file.txt']], ['my-dir/file.txt']],
      ['join', ['some-base/', 'my-dir/', 'file.txt'], ['some-base/my-dir/file.txt']],
      ['join', ['a', 'b', 'c'], ['a/bc']],
      ['join', ['a/', 'b/', 'c/'], ['a/b/c/']],
      [
        'join',
        ['root/', ['user', 'docs'], 'projectA', ['report', 'final.pdf']],
        ['root/user/docsprojectAreport/final.pdf'],
      ],
    ]))

  it('47: split', () =>
    expectCalls('path', [
      ['split', ['justafile.md'], ['', 'justafile.md']],
      ['split', ['/file_at_root'], ['/', 'file_at_root']],
      ['split', ['trailing/slash/'], ['trailing', 'slash']],
      ['split', ['some/path/to_file.md'], ['some/path', 'to_file.md']],
    ]))
})
