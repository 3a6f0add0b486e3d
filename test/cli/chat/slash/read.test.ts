import { expect, it } from 'vitest'
import { readTyped } from '../../../../src/cli/chat/session.ts'

it.each([
  ['what is this?', { kind: 'message', text: 'what is this?' }],
  ['/iter 5 "x"', { kind: 'builtin', name: 'iter', rest: '5 "x"' }],
  ['/help', { kind: 'builtin', name: 'help', rest: '' }],
  ['/review src', { kind: 'command', name: 'review', rest: 'src' }],
  ['//help is a command', { kind: 'message', text: '/help is a command' }],
  ['/usr/bin/env is a path', { kind: 'message', text: '/usr/bin/env is a path' }],
  ['!npm test', { kind: 'shell', command: 'npm test' }],
  ['!', { kind: 'message', text: '!' }],
] as const)('parses %s (R85)', (line, typed) => {
  expect(readTyped(line, ['review'])).toEqual(typed)
})

it('suggests the nearest command for an unknown one', () => {
  expect(() => readTyped('/itre 5 x', [])).toThrow(
    expect.objectContaining({
      message: 'there is no command /itre',
      hint: expect.stringContaining('Did you mean /iter?'),
    }),
  )
})
