import { expect, it } from 'vitest'
import { createTypedKeys } from '../../../src/cli/chat/typed-keys.ts'

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
  ['nothing in a paste is a key', ['\u001b[200~\tab\u0003\u001b[31m\u001b[201~'], '␉ab'],
  ['Escape and arrows get through', ['\u001b', '\u001b[A'], '\u001b\u001b[A'],
  ['a further paste is one, too', ['\u001b[200~a\r\u001b[201~b\u001b[200~c\r\u001b[201~'], 'a␊bc␊'],
] as const)('%s', (_, pieces, expected) => {
  expect(typed(...pieces)).toBe(expected)
})

function paste(text: string): string {
  return `\u001b[200~${text}\u001b[201~`
}

it('a long paste is shown by its length, and its text is sent whole', () => {
  const { translate, textOf, lineOf } = createTypedKeys()
  const lines = Array.from({ length: 2000 }, (_, at) => `line ${at} [3 lines pasted] $& \t\u200b`).join('\n')
  const whole = paste(lines)
  const line = ['look: ', whole.slice(0, 999), whole.slice(999), ' and: '].map(translate).join('')
  expect(line).toBe('look: [2,000 lines pasted] and: ')
  const text = `look: ${lines} and: `
  expect(textOf(line)).toBe(text)
  // as it is shown again
  expect(lineOf(text)).toBe(line)
  const other = lines.replaceAll('line', 'other')
  const both = line + translate(paste(other))
  expect(both).toBe(`${line}[2,000 lines pasted, 2]`)
  expect(textOf(both)).toBe(text + other)
  expect(translate(paste(lines))).toBe('[2,000 lines pasted]')
  expect(translate(paste('x'.repeat(3000)))).toBe('[3,000 characters pasted]')
  // changed by hand, it is text
  expect(textOf('[2,00 lines pasted]')).toBe('[2,00 lines pasted]')
  // another terminal knows nothing of it
  expect(createTypedKeys().textOf(line)).toBe(line)
})

it('a long paste that contains the name of another one stays as it is', () => {
  const { translate, textOf } = createTypedKeys()
  const one = 'a\n'.repeat(11)
  const two = `[12 lines pasted]\n${'b\n'.repeat(10)}`
  const names = ['short', one, two, one].map((text) => translate(paste(text)))
  expect(names).toEqual(['short', '[12 lines pasted]', '[12 lines pasted, 2]', '[12 lines pasted]'])
  expect(textOf('x [12 lines pasted, 2] [12 lines pasted] [13 lines pasted]')).toBe(`x ${two} ${one} [13 lines pasted]`)
})

it('tabs in a paste are sent as they are, and shown as a mark', () => {
  const { translate, textOf, lineOf } = createTypedKeys()
  const line = translate(paste('all:\r\tmake\t-j'))
  expect([line, textOf(line), lineOf(textOf(line))]).toEqual(['all:␊␉make␉-j', 'all:\n\tmake\t-j', 'all:␊␉make␉-j'])
})

it('a paste whose end was lost ends with Ctrl-C', () => {
  expect(typed('\u001b[200~a', 'b\r', '\u0003', 'c\r')).toBe('ab␊\u0003c\r')
})

it('text and edited line are converted into each other', () => {
  const { textOf, lineOf } = createTypedKeys()
  expect(textOf(lineOf('a\nb'))).toBe('a\nb')
})
