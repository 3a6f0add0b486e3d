import { describe, expect, it } from 'vitest'
import { differsOnlyInOwnTexts, hasOwnText, modelText } from '../../src/base/model-text.ts'

const greeting = (name: string): string => modelText`Good morning ${name}, and welcome to the ship.`
const rule = modelText`Answer in the language of the question.
Quote nothing twice.`

describe('texts of this version', () => {
  it('are the texts as written, with their values', () => {
    expect(greeting('Ada')).toBe('Good morning Ada, and welcome to the ship.')
    expect(modelText`${1} and ${undefined}`).toBe('1 and undefined')
  })

  it('are found in a text, and texts of authors are not', () => {
    expect([greeting('Ada'), 'Good morning', `Say: ${rule}`, ''].map(hasOwnText)).toEqual([true, false, true, false])
  })

  it.each([
    ['worded differently', greeting('Ada'), 'Good evening Ada, and welcome to the boat.'],
    ['longer', greeting('Ada'), 'Good morning Ada, and a warm welcome to the ship and its crew.'],
    ['gone', `${greeting('Ada')}\n\nWash it.`, 'Ada\n\nWash it.'],
    ['in a comment', `/**\n * ${rule.replace('\n', '\n * ')}\n */`, '/**\n * Answer in English.\n * Quote all.\n */'],
    ['in lists and objects', [{ text: greeting('Ada'), count: 1 }], [{ text: 'Hi Ada.', count: 1 }]],
  ])('may be %s in a record', (_, now, then) => {
    expect(differsOnlyInOwnTexts(now, then)).toBe(true)
  })

  it.each([
    ['a value', greeting('Ada'), 'Good evening Eve, and welcome to the boat.'],
    ['a word of the author', `Wash it.\n\n${greeting('Ada')}`, 'Dry it.\n\nGood evening Ada, and welcome.'],
    ['more of the author', `Wash it.\n\n${rule}`, `Wash it. Soon.\n\n${rule}`],
    ['less of the author', `Wash it. Soon.\n\n${rule}`, `Wash it.\n\n${rule}`],
    ['only the words of an author', 'Wash it.', 'Dry it.'],
    ['a number', { text: rule, count: 1 }, { text: rule, count: 2 }],
    ['a field', { text: rule }, { text: rule, more: true }],
    ['a list', [rule], [rule, rule]],
  ])('do not hide other differences: %s', (_, now, then) => {
    expect(differsOnlyInOwnTexts(now, then)).toBe(false)
  })
})
