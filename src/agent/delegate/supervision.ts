import type { Clock } from '../../base/clock.ts'
import { leaderId, type TeamMember } from '../../event/collab.ts'
import type { RunContext } from '../../event/context.ts'
import { watchProgress } from '../collab/progress.ts'
import { createRepeats } from '../collab/repeats.ts'
import { createRestWatch } from '../collab/rest.ts'
import { type Stall, stallOfRest } from '../collab/supervisor.ts'
import { blockedRound } from './blocked-round.ts'
import type { WorkItems } from './items.ts'
import { leaderHandle } from './tools.ts'

export interface SupervisionOptions {
  readonly clock: Clock
  readonly stallAfterMs: number
  /** The handles of workers that are at work. */
  readonly atWork: () => readonly string[]
  readonly items: () => WorkItems
  /** Called once for each standstill. */
  readonly onStall: (stall: Stall) => void
}

/** Names what a team that works on a list does not get out of by itself. */
export interface Supervision {
  /** The same context, whose work is that of a member. */
  readonly watch: (handle: string, context: RunContext) => RunContext
  /** The list has changed. */
  readonly look: () => void
  readonly close: () => void
}

/**
 * Sees calls that a member repeats, items that wait for each other, and workers of whom none gets further for a time, as the team of `[collab]`
 * does. Workers wait for nobody but persons, whose time does not count.
 */
export function superviseList({ clock, stallAfterMs, atWork, items, onStall }: SupervisionOptions): Supervision {
  let told: string | undefined
  const rest = createRestWatch({
    clock,
    stallAfterMs,
    onRest(restedMs) {
      const active = atWork()
      const stall = stallOfRest({ members: active.map(memberOf), active: new Set(active), restedMs, nameOf })
      if (stall !== undefined) onStall(stall)
    },
  })
  const repeats = createRepeats({ nameOf, onProgress: rest.progress, onStall })
  const team = {
    ...repeats,
    asking: rest.asking,
    // a leader that asks again and again gets nobody further
    progressed: (handle: string) => (handle === leaderHandle ? undefined : rest.progress()),
  }
  return {
    watch(handle, context) {
      team.progressed(handle)
      return watchProgress({ team, id: handle }, context)
    },
    look() {
      const round = blockedRound(items())
      const key = round?.toSorted().join()
      if (round !== undefined && key !== told) onStall(stallOfRound(round))
      told = key
    },
    close: rest.end,
  }
}

function nameOf(handle: string): string {
  return handle
}

function memberOf(id: string): TeamMember {
  return { id, parent: leaderId, depth: 1, role: id, status: 'running', isQueued: false, waitsFor: [] }
}

function stallOfRound(round: readonly string[]): Stall {
  const each = round.map((id, index) => `#${id} waits for #${round[(index + 1) % round.length] ?? ''}`)
  const message = `items wait for each other, so that nobody can begin them: ${each.join(', ')}`
  return { kind: 'cycle', agents: [], message }
}
