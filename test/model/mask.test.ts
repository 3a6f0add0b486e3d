import { expect, it } from 'vitest'
import { safeText } from '../../src/model/errors.ts'

const key = 'token/ABCDEFGH12345678"x'

it.each([
  ['as it is', `the key ${key} is wrong`, 'the key «secret» is wrong'],
  ['URL-encoded', `?key=${encodeURIComponent(key)}&b=1`, '?key=«secret»&b=1'],
  ['escaped for JSON', JSON.stringify({ key }), '{"key":"«secret»"}'],
  ['cut after its beginning', 'the key token/ABCDEFGH12… is wrong', 'the key «secret» is wrong'],
])('masks a key %s', (_, text, expected) => {
  expect(safeText(text, [key])).toBe(expected)
})

it.each(['sk-proj-abc123def', 'gsk_abcdef123456', 'AIzaSyAbcdef123456', 'Bearer abcdef123456'])(
  'masks %s although it is not one of our keys',
  (text) => {
    expect(safeText(`wrong: ${text}.`, [])).toMatch(/^wrong: (Bearer )?«secret»/)
    expect(safeText(`wrong: \u001B[1;31m${text}.`, [])).toMatch(/^wrong: \[1;31m(Bearer )?«secret»/)
  },
)

it('masks before it truncates', () => {
  expect(safeText(`${'x'.repeat(290)}${key}`, [key])).toBe(`${'x'.repeat(290)}«secret»`)
})

it('does not change other text', () => {
  expect(safeText('model task-list-2 is busy', [key])).toBe('model task-list-2 is busy')
})

it('removes terminal control characters', () => {
  expect(safeText('a\u001b]0;x\u0007b\r\n\u202ec', [])).toBe('a ]0;x b c')
})
