import type { RunEvent } from '../event/event.ts'
import { formatCount, oneLine } from './format.ts'

type TeamEvent = Extract<RunEvent, { readonly type: `collab.${string}` | `delegate.${string}` }>

/** What is known about the agents of a run's teams during the run. */
export interface TeamMembers {
  /** Handles an event of a team. */
  readonly add: (event: TeamEvent) => void
  /**
   * `worker 2`: numbered within its role, in order of first mention. Unknown agents are named by id, the leader `the
   * leader`.
   */
  readonly nameOf: (id: string, role?: string) => string
  readonly isQueued: (id: string) => boolean
  /** `5 agents, 3 done, 1 failed, 12/40 items` (work items); empty without a team. */
  readonly text: () => string
}

/** Follows teams by their events. */
export function createTeamMembers(): TeamMembers {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const statuses = new Map<string, 'queued' | 'working' | 'done' | 'failed' | 'closed'>()
  const items = new Map<string, string>()

  function nameOf(id: string, role?: string): string {
    const known = names.get(id)
    if (known !== undefined) return known
    if (role === undefined) return id === 'root' ? 'the leader' : oneLine(id, 12)
    const count = (counts.get(role) ?? 0) + 1
    counts.set(role, count)
    const name = `${oneLine(role, 40)} ${count}`
    names.set(id, name)
    return name
  }

  function count(wanted: string): number {
    return [...statuses.values()].filter((status) => status === wanted).length
  }

  return {
    add(event) {
      if (event.type === 'delegate.item') items.set(event.id, event.status)
      if (event.type !== 'collab.status') return
      const { thread_id: id, role, status } = event
      nameOf(id, role)
      if (status === 'pending_init') statuses.set(id, 'queued')
      else if (typeof status === 'object') statuses.set(id, 'completed' in status ? 'done' : 'failed')
      // an agent closed after it ended keeps its result
      else if (status === 'shutdown') {
        if (['queued', 'working'].includes(statuses.get(id) ?? '')) statuses.set(id, 'closed')
      } else statuses.set(id, 'working')
    },
    nameOf,
    isQueued: (id) => statuses.get(id) === 'queued',
    text() {
      const [done, failed] = [count('done'), count('failed')]
      const isDone = [...items.values()].filter((status) => status === 'completed').length
      return [
        statuses.size === 0 ? '' : `${formatCount(statuses.size)} agent${statuses.size === 1 ? '' : 's'}`,
        done === 0 ? '' : `${formatCount(done)} done`,
        failed === 0 ? '' : `${formatCount(failed)} failed`,
        items.size === 0 ? '' : `${formatCount(isDone)}/${formatCount(items.size)} items`,
      ]
        .filter((text) => text !== '')
        .join(', ')
    },
  }
}
