import { expect, it } from 'vitest'
import { createTypedKeys, withBreakMarks, withLineBreaks } from '../../../src/cli/chat/typed-keys.ts'

function typed(...pieces: readonly string[]): string {
  const keys = createTypedKeys()
  return pieces.map(keys.translate).join('')
}

it.each([
  ['Enter is a key', ['a\r'], 'a\r'],
  ['Alt-Enter breaks the line', ['a\u001b\rb'], 'a␊b'],
  ['Ctrl-J breaks the line', ['a\nb'], 'a␊b'],
  ['Shift-Enter breaks the line where it is told', ['a\u001b[13;2ub\u001b[27;2;13~c'], 'a␊b␊c'],
  ['a paste sends nothing', ['\u001b[200~one\r\ntwo\rthree\n\u001b[201~\r'], 'one␊two␊three␊\r'],
  ['a paste in any pieces is one', ['x\u001b[20', '0~a\r', 'b\u001b[2', '01~y'], 'xa␊by'],
  ['nothing in a paste is a key', ['\u001b[200~\tab\u0003\u001b[31m\u001b[201~'], '    ab[31m'],
  ['Escape and arrows get through', ['\u001b', '\u001b[A'], '\u001b\u001b[A'],
  ['a further paste is one, too', ['\u001b[200~a\r\u001b[201~b\u001b[200~c\r\u001b[201~'], 'a␊bc␊'],
] as const)('%s', (_, pieces, expected) => {
  expect(typed(...pieces)).toBe(expected)
})

it('text and edited line are converted into each other', () => {
  expect(withLineBreaks(withBreakMarks('a\nb'))).toBe('a\nb')
})
