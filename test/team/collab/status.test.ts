import { describe, expect, it } from 'vitest'
import { isFinal, mayBecome, statusName } from '../../../src/team/core/member.ts'
import type { AgentStatus } from '../../../src/event/collab.ts'

const statuses: readonly AgentStatus[] = [
  'pending_init',
  'running',
  'interrupted',
  'shutdown',
  'not_found',
  { completed: null },
  { errored: 'boom' },
]

describe('statuses of agents', () => {
  it('end a wait if they are final, as does an unknown id (R96)', () => {
    expect(statuses.filter(isFinal)).toEqual(['shutdown', 'not_found', { completed: null }, { errored: 'boom' }])
  })

  it('change from pending to running, then to an end, and back to running after a message (R98 to R101)', () => {
    const ways = statuses.flatMap((from) =>
      statuses.filter((to) => mayBecome(from, to)).map((to) => `${statusName(from)} -> ${statusName(to)}`),
    )
    expect(ways).toEqual([
      'pending_init -> running',
      'pending_init -> shutdown',
      'running -> interrupted',
      'running -> shutdown',
      'running -> completed',
      'running -> errored',
      'interrupted -> running',
      'interrupted -> shutdown',
      'completed -> running',
      'completed -> shutdown',
      'errored -> running',
      'errored -> shutdown',
    ])
  })
})
