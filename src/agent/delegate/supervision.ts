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
  /** The handles of the working workers. */
  readonly atWork: () => readonly string[]
  readonly items: () => WorkItems
  /** Called once for each stall. */
  readonly onStall: (stall: Stall) => void
}

/** Detects what a team with a list cannot resolve on its own. */
export interface Supervision {
  /** The same context, watched as the work of a member. */
  readonly watch: (handle: string, context: RunContext) => RunContext
  /** Called when the list has changed. */
  readonly look: () => void
  readonly close: () => void
}

/**
 * Detects repeated calls of a member, items that block each other, and workers without progress, like the team of
 * `[collab]`. Workers only ever wait for the user; that time does not count.
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
    // a polling leader is no progress
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
  const message = `items wait for each other, so nobody can start them: ${each.join(', ')}`
  return { kind: 'cycle', agents: [], message }
}
