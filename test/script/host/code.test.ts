import { expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { codeModule } from '../../../src/script/host/code.ts'
import { hostSection } from './host-section.ts'

const { call } = hostSection('/')

function comment(extension: LuaValue, content: LuaValue): LuaValue {
  return call(codeModule, 'comment_line', extension, content)[0]
}

it('writes a comment in the syntax of the language (vector 82)', () => {
  const extensions = ['rs', 'lua', 'sql', 'html', 'css', 'pcss', 'py', 'ts', '']
  expect(extensions.map((extension) => comment(extension, 'ü t'))).toEqual([
    '// ü t',
    '-- ü t',
    '-- ü t',
    '<!-- ü t -->',
    '/* ü t */',
    '/* ü t */',
    '# ü t',
    '// ü t',
    '// ü t',
  ])
})

it('trims the extension and ignores case, but does not change the text', () => {
  expect(comment('  Rs  ', '  Another  ')).toBe('//   Another  ')
  expect(comment(' HTML', '')).toBe('<!--  -->')
})

it('refuses nil and tables', () => {
  expect(() => comment(undefined, 'x')).toThrow('aip.code.comment_line: the extension must be a string, but was nil')
  expect(() => comment('rs', undefined)).toThrow('the text must be a string, but was nil')
  expect(() => comment('rs', {})).toThrow('the text must be a string or nil, but was table')
})
