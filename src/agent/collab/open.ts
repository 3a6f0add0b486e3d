import { type Clock, systemClock } from '../../base/clock.ts'
import { type Collab, type CollabSettings, leaderId, type TeamEvent } from '../../event/collab.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { createCoordinator } from './coordinator.ts'
import { createTeamBudget } from './shares.ts'
import type { Stall } from './supervisor.ts'
import { nameOf } from './texts.ts'
import { watchProgress } from './progress.ts'

/**
 * A team for the conversation that is opened with what comes back: its model leads it by the tools that it is then given. The team ends when that
 * conversation does (`close` of its tools). `context` is where the tools of the conversation are given.
 */
export function openCollab(settings: CollabSettings, context: RunContext, clock: Clock = systemClock): RunContext {
  const team = createCoordinator({ settings, clock })
  const { signal, effects } = context.services
  const collab: Collab = {
    team,
    settings,
    self: { id: leaderId, depth: 0 },
    signal,
    effects,
    budget: createTeamBudget(settings.budget),
  }
  team.watch((event) => tell(event, context))
  return watchProgress({ team, id: leaderId }, withServices(context, { collab }))
}

function tell(event: TeamEvent, context: RunContext): void {
  switch (event.kind) {
    case 'status': {
      const { id, role, status } = event
      return emit(context, { type: 'collab.status', thread_id: id, name: nameOf(id, role), role, status })
    }
    case 'message': {
      const { id, from, text } = event.mail
      return emit(context, { type: 'collab.message', id, from, to: event.to, text })
    }
    case 'stalled': {
      const { stall: kind, agents, message } = event
      return announceStall({ kind, agents, message }, context)
    }
  }
}

/** Tells who looks on that a team gets no further by itself. */
export function announceStall({ kind, agents, message }: Stall, context: RunContext): void {
  emit(context, { type: 'collab.stalled', kind, agents: [...agents], message })
  emit(context, { type: 'warning', message: `the team stands still: ${message}` })
}

/** The conversation of the leader has ended, by a failure or not: so has its team. */
export async function endTeam({ team }: Collab, context: RunContext, failure: unknown): Promise<void> {
  const left = await team.end(failure)
  if (left.length === 0) return
  const members = team.members()
  const names = left.map(({ id, role }) => {
    const alike = members.filter((member) => member.role === role)
    return `${role} ${alike.findIndex((member) => member.id === id) + 1}`
  })
  emit(context, {
    type: 'warning',
    message: `agents were never closed: ${names.join(', ')}`,
    hint: 'Let the leader close each agent when it needs it no more (close_agent).',
  })
}
