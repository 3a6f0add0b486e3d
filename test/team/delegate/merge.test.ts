import { describe, expect, it } from 'vitest'
import type { WorkItem, WorkItems } from '../../../src/team/delegate/items.ts'
import type { ReadItem } from '../../../src/team/delegate/list-form.ts'
import { conflictText, mergeItems } from '../../../src/team/delegate/merge.ts'
import { createRandom, oneOf } from '../../helpers/random.ts'

function item(id: string, more: Partial<WorkItem> = {}): WorkItem {
  return { id, subject: `item ${id}`, status: 'pending', blocked_by: [], ...more }
}

const base: WorkItems = [item('1'), item('2'), item('3', { blocked_by: ['1'] })]

function merge(ours: WorkItems, theirs: readonly ReadItem[], written = [base]) {
  return mergeItems({ written, theirs, ours, next: 4 })
}

describe('merging edits of a person', () => {
  it('accepts changes of the person next to changes of the team', () => {
    const ours = [item('1', { status: 'in_progress', owner: 'ann' }), ...base.slice(1)]
    const theirs = [item('1', { subject: 'better' }), item('2', { owner: 'bob' }), base[2] as WorkItem]
    const { items, changed, conflicts } = merge(ours, theirs)
    expect(conflicts).toEqual([])
    expect(changed).toEqual(['1', '2'])
    expect(items.slice(0, 2)).toEqual([
      item('1', { subject: 'better', status: 'in_progress', owner: 'ann' }),
      item('2', { owner: 'bob' }),
    ])
  })

  it('keeps the version of the team if both have changed an item, and reports it', () => {
    const ours = [item('1', { subject: 'ours' }), ...base.slice(1)]
    const { items, conflicts } = merge(ours, [item('1', { subject: 'theirs' }), ...base.slice(1)])
    expect(items[0]?.subject).toBe('ours')
    expect(conflicts.map(conflictText)).toEqual(['subject of #1: the list has "theirs", but it stays "ours"'])
  })

  it('adds items, with a new id if they have none or the team has used it meanwhile', () => {
    const ours = [...base, item('4', { subject: 'of the team' })]
    const theirs = [...base, { ...item('4', { subject: 'of a person' }) }, { ...item('', { subject: 'another' }) }].map(
      ({ id, ...rest }) => (id === '' ? rest : { id, ...rest }),
    )
    const { items, unnamed, next } = merge(ours, theirs)
    expect(items.slice(3).map(({ id, subject }) => [id, subject])).toEqual([
      ['4', 'of the team'],
      ['6', 'of a person'],
      ['5', 'another'],
    ])
    expect(unnamed).toEqual(['5'])
    expect(next).toBe(7)
  })

  it('removes deleted items, unless somebody works on them', () => {
    const ours = [item('1', { status: 'in_progress', owner: 'ann' }), ...base.slice(1)]
    const { items, conflicts } = merge(ours, [base[2] as WorkItem])
    expect(items.map(({ id }) => id)).toEqual(['1', '3'])
    expect(conflicts.map(conflictText)).toEqual(['#1 was removed from the list, but is kept: it is in_progress'])
  })

  it('recognizes an older text of an editor, so that nothing is reopened', () => {
    const newer = [item('1', { status: 'completed', owner: 'ann' }), item('2'), item('3')]
    const theirs = [item('1'), item('2', { subject: 'edited' }), base[2] as WorkItem]
    const { items, conflicts } = merge(newer, theirs, [newer, base])
    expect(items.map(({ subject, status }) => [subject, status])).toEqual([
      ['item 1', 'completed'],
      ['edited', 'pending'],
      ['item 3', 'pending'],
    ])
    expect(conflicts).toEqual([])
  })

  it('loses no change of either side, whatever both do', () => {
    const statuses = ['pending', 'in_progress', 'completed'] as const
    for (let seed = 1; seed <= 150; seed += 1) {
      const random = createRandom(seed)
      const start = Array.from({ length: 5 }, (_, index) =>
        item(String(index + 1), { status: oneOf(random, statuses) }),
      )
      const edited = (whose: string): WorkItems =>
        start.map((one) => ({
          ...one,
          ...(random() < 0.3 ? { subject: `${whose} ${one.id}` } : {}),
          ...(random() < 0.3 ? { status: oneOf(random, statuses) } : {}),
          ...(random() < 0.3 ? { owner: whose } : {}),
        }))
      const ours = edited('team')
      const theirs = edited('person')
      const { items, conflicts } = mergeItems({ written: [start], theirs, ours, next: 6 })
      for (const [index, old] of start.entries()) {
        for (const field of ['subject', 'status', 'owner'] as const) {
          const [mine, their, got] = [ours[index]?.[field], theirs[index]?.[field], items[index]?.[field]]
          const isConflict = mine !== old[field] && their !== old[field] && mine !== their
          expect(got).toBe(mine === old[field] ? their : mine)
          expect(conflicts.some((one) => one.id === old.id && one.field === field)).toBe(isConflict)
        }
      }
      // a merge is final: merging the same texts again changes nothing
      expect(mergeItems({ written: [items], theirs: items, ours: items, next: 6 })).toMatchObject({
        items,
        changed: [],
        conflicts: [],
      })
    }
  })
})
