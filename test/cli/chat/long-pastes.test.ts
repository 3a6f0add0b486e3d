import { expect, it } from 'vitest'
import { createLongPastes } from '../../../src/cli/chat/long-pastes.ts'

it('names long texts by their length, and finds them again wherever their names stand', () => {
  const { short, shorten, whole } = createLongPastes()
  const one = 'a\n'.repeat(11)
  const two = `[12 lines pasted]\n${'b\n'.repeat(10)}`
  expect([short('short'), short(one), short(two), short(one)]).toEqual([
    'short',
    '[12 lines pasted]',
    '[12 lines pasted, 2]',
    '[12 lines pasted]',
  ])
  // a text that contains the name of another one stays as it is
  expect(whole('x [12 lines pasted, 2] [12 lines pasted] [13 lines pasted]')).toBe(`x ${two} ${one} [13 lines pasted]`)
  expect(shorten(`x ${one} y`)).toBe('x [12 lines pasted] y')
})
