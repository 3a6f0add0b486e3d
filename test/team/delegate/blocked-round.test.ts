import { describe, expect, it } from 'vitest'
import { blockedRound, type WorkItems } from '../../../src/team/delegate/items.ts'

/** `1<2,3` waits for 2 and 3; `1!` is completed. */
function list(...items: readonly string[]): WorkItems {
  return items.map((text) => {
    const [name = '', on = ''] = text.split('<')
    const status = name.endsWith('!') ? 'completed' : 'pending'
    const id = name.replace('!', '')
    return { id, subject: `item ${id}`, status, blocked_by: on === '' ? [] : on.split(',') }
  })
}

describe('items that block each other', () => {
  it.each([
    [
      ['1<2', '2<1'],
      ['1', '2'],
    ],
    [['1<1'], ['1']],
    [
      ['4', '3<1', '1<2', '2<4,5', '5<1'],
      ['1', '2', '5'],
    ],
  ])('are named in order: %j', (items, round) => {
    const found = blockedRound(list(...items))
    expect(found?.toSorted()).toEqual(round)
    expect(list(...items).find(({ id }) => id === found?.[0])?.blocked_by).toContain(found?.[1] ?? found?.[0])
  })

  it.each([[['1', '2<1', '3<1,2']], [['1!<2', '2<1']], [['1<9']], [[]]])('do not occur in %j', (items) => {
    expect(blockedRound(list(...items))).toBeUndefined()
  })
})
