import { describe, expect, it } from 'vitest'
import type { AgentStatus } from '../../../src/event/collab.ts'
import { createWaits } from '../../../src/team/core/waits.ts'

/** Waits for agents whose status is set here; all are running at first. */
function world() {
  const statuses = new Map<string, AgentStatus>()
  const waits = createWaits((id) => statuses.get(id) ?? 'running')
  return {
    waits,
    /** Returns the waiters whose waits are for the agent. */
    become: (id: string, status: AgentStatus): readonly string[] => {
      statuses.set(id, status)
      return waits.changed(id).map(({ waiter }) => waiter)
    },
  }
}

const done = { completed: 'done' } as const

describe('an open wait of a team', () => {
  it('for all agents ends with the last of them, with the statuses at that moment', async () => {
    const { waits, become } = world()
    const wait = waits.open('root', { ids: ['a', 'b'], returnWhen: 'all' }, true)
    become('a', done)
    expect(wait.isSettled()).toBe(false)
    become('b', { errored: 'no' })
    become('a', 'running')
    const status = new Map<string, AgentStatus>([
      ['a', done],
      ['b', { errored: 'no' }],
    ])
    expect(await wait.outcome).toEqual({ kind: 'ended', status })
  })

  it('continues if an agent works again before the last one ends', () => {
    const { waits, become } = world()
    const wait = waits.open('root', { ids: ['a', 'b'], returnWhen: 'all' }, true)
    become('a', done)
    become('a', 'running')
    become('b', done)
    expect(wait.isSettled()).toBe(false)
    become('a', done)
    expect(wait.isSettled()).toBe(true)
  })

  it('for any agent ends with the first, and at once if one has ended before', async () => {
    const { waits, become } = world()
    const wait = waits.open('root', { ids: ['a', 'b'], returnWhen: 'any' }, true)
    expect(wait.isSettled()).toBe(false)
    become('b', done)
    expect(await wait.outcome).toMatchObject({ kind: 'ended' })
    expect(waits.open('root', { ids: ['a', 'b'], returnWhen: 'any' }, true).isSettled()).toBe(true)
  })

  it('has only its first outcome', async () => {
    const { waits, become } = world()
    const wait = waits.open('root', { ids: ['a'], returnWhen: 'all' }, true)
    wait.stall('a cycle')
    wait.end('time')
    become('a', done)
    expect(await wait.outcome).toEqual({ kind: 'stalled', message: 'a cycle' })
  })

  it('is notified only of its own agents, and of none once it is closed', () => {
    const { waits, become } = world()
    const wait = waits.open('root', { ids: ['a'], returnWhen: 'all' }, true)
    waits.open('b', { ids: ['a', 'c'], returnWhen: 'all' }, true)
    expect(become('x', done)).toEqual([])
    expect(become('a', 'interrupted')).toEqual(['root', 'b'])
    wait.close()
    expect(become('a', done)).toEqual(['b'])
    expect([waits.of('root'), waits.all().length]).toEqual([[], 1])
  })

  it('ends with a message only if the model waits for messages, not by a call', () => {
    const { waits } = world()
    const call = waits.open('root', { ids: ['a'], returnWhen: 'any' }, true)
    const news = waits.open('root', { ids: ['a'], returnWhen: 'any' }, false)
    const other = waits.open('b', { ids: ['a'], returnWhen: 'any' }, false)
    waits.news('root')
    expect([call, news, other].map((wait) => wait.isSettled())).toEqual([false, true, false])
  })
})
