import { expect, it } from 'vitest'
import { withRange } from '../../src/script/section-error.ts'

/** The marked part of the line. */
function marked(line: string, message: string): string | undefined {
  const { column, endColumn } = withRange({ file: 'a.lua', line: 2, text: `first\n${line}\n` }, message)
  return column === undefined ? undefined : line.slice(column - 1, (endColumn ?? 0) - 1)
}

it.each([
  ['return t.x + one.two', "attempt to index a nil value (field 'two')", 'two'],
  ['return value.x', "attempt to index a nil value (local 'value')", 'value'],
  ['  call_me(1)', "attempt to call a nil value (global 'call_me')", 'call_me'],
  ['if x then retrun end', "syntax error near 'retrun'", 'retrun'],
  ['local x = ) + 1', "unexpected symbol near ')'", ')'],
])('marks the name in the message of Lua: %s', (line, message, expected) => {
  expect(marked(line, message)).toBe(expected)
})

it.each([
  ['it stands there twice', 'return t.x + t.y', "attempt to index a nil value (local 't')"],
  ['it stands in a text', 'return get("t")', "attempt to index a nil value (local 't')"],
  ['it stands in a comment', 'return get() -- t', "attempt to index a nil value (local 't')"],
  ['it is part of another name', 'return text', "attempt to index a nil value (local 't')"],
  ['nothing is named', 'error("boom")', 'boom'],
])('marks nothing when %s', (_, line, message) => {
  expect(marked(line, message)).toBeUndefined()
})

it('does not change a place with a column, or one without a line', () => {
  const place = { file: 'a', line: 1, column: 3, text: 'return t' }
  expect(withRange(place, "attempt to index a nil value (local 't')")).toBe(place)
  expect(withRange({ file: 'a' }, "near 'x'")).toEqual({ file: 'a' })
})
