import { describe, expect, it } from 'vitest'
import {
  claimItem,
  completeItem,
  createItems,
  type Done,
  giveBack,
  noteItem,
  openItems,
  updateItem,
  type WorkItems,
} from '../../../src/team/delegate/items.ts'

function list(...subjects: readonly (string | { readonly subject: string; readonly blocked_by: readonly string[] })[]) {
  return createItems(
    [],
    subjects.map((one) => (typeof one === 'string' ? { subject: one } : one)),
    1,
  ).items
}

/** Applies the calls one after the other, and returns the result of the last. */
function after(items: WorkItems, ...steps: readonly ((items: WorkItems) => Done)[]): Done {
  let done: Done = { items, changed: [], text: '' }
  for (const step of steps) done = step(done.items)
  return done
}

describe('work items', () => {
  it('get numbers, and drop unknown blockers', () => {
    const { items, text, next } = createItems(
      [],
      [{ subject: 'write  it\n' }, { subject: 'test it', blocked_by: ['1', '#9'] }],
      1,
    )
    expect(items.map(({ id, subject, blocked_by }) => [id, subject, blocked_by])).toEqual([
      ['1', 'write it', []],
      ['2', 'test it', ['1']],
    ])
    expect(text).toBe('created:\n[ ] #1 write it\n[ ] #2 test it (blocked by #1)')
    expect(next).toBe(3)
  })

  it('can be claimed by one worker', () => {
    const items = list('a', { subject: 'b', blocked_by: ['1'] })
    expect(after(items, (now) => claimItem(now, 'ann', '1'))).toMatchObject({ text: 'claimed #1: a', changed: ['1'] })
    const said = (id: string): string =>
      after(
        items,
        (now) => claimItem(now, 'ann', '1'),
        (now) => claimItem(now, 'bob', id),
      ).text
    expect(said('#1')).toBe('already claimed by ann')
    expect(said('2')).toBe('blocked by [#1]')
    expect(said('7')).toBe('not found: there is no item #7')
  })

  it('are assigned to whoever requests any, its own items first', () => {
    const items = after(list('a', 'b', 'c'), (now) => updateItem(now, '2', { owner: '@bob' })).items
    expect(claimItem(items, 'bob').text).toBe('claimed #2: b')
    expect(claimItem(items, 'ann').text).toBe('claimed #1: a')
    expect(claimItem(items, 'ann', '2').text).toBe('already claimed by bob')
  })

  it('are completed by their claimer, and unblock waiting items', () => {
    const items = after(list('a', { subject: 'b', blocked_by: ['1'] }), (now) => claimItem(now, 'ann')).items
    expect(completeItem(items, 'bob', '1').text).toBe('#1 is claimed by ann, not by you')
    expect(completeItem(items, 'ann', '2').text).toBe('#2 is not claimed: claim it first')
    const done = completeItem(items, 'ann', '1', 'went well')
    expect(done.text).toBe('completed #1: a; no longer blocked: #2')
    expect(completeItem(done.items, 'ann', '1').text).toBe('#1 is already completed')
    expect(claimItem(done.items, 'bob').text).toBe('claimed #2: b')
  })

  it('become available again when their claimer is gone, unless they are completed', () => {
    const { items, changed } = after(
      list('a', 'b', 'c'),
      (now) => claimItem(now, 'ann'),
      (now) => completeItem(now, 'ann', '1'),
      (now) => claimItem(now, 'ann'),
      (now) => noteItem(now, 'ann', '2', 'half done'),
      (now) => giveBack(now, 'ann'),
    )
    expect(changed).toEqual(['2'])
    expect(items.map(({ status, owner }) => [status, owner])).toEqual([
      ['completed', 'ann'],
      ['pending', undefined],
      ['pending', undefined],
    ])
  })

  it('cannot block each other in a cycle', () => {
    const items = list('a', { subject: 'b', blocked_by: ['1'] }, { subject: 'c', blocked_by: ['2'] })
    const refused = updateItem(items, '1', { blocked_by: ['3'] })
    expect(refused).toMatchObject({ isError: true, text: 'not changed: #1 waits for #3 waits for #2 waits for #1' })
    expect(refused.items).toBe(items)
  })

  it('can be changed, reset and deleted by the leader', () => {
    const items = after(list('a', { subject: 'b', blocked_by: ['1'] }), (now) => claimItem(now, 'ann')).items
    expect(updateItem(items, '1', { status: 'pending' }).text).toBe('changed:\n[ ] #1 a')
    expect(openItems(updateItem(items, '1', { status: 'deleted' }).items)).toEqual([
      { id: '2', subject: 'b', status: 'pending', blocked_by: [] },
    ])
  })
})
