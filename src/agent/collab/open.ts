import { type Clock, systemClock } from '../../base/clock.ts'
import { type Collab, type CollabSettings, leaderId, type TeamEvent } from '../../event/collab.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { createCoordinator } from './coordinator.ts'
import { createTeamBudget } from './shares.ts'
import type { Stall } from './supervisor.ts'
import { nameOf } from './texts.ts'
import { watchProgress } from './progress.ts'

/**
 * Opens a team for a conversation, which must be opened with the returned context: its model then gets the tools to
 * lead the team. The team ends with the conversation (`close` of its tools). `context` is where the conversation gets
 * its tools.
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

/** Reports that a team cannot make progress without help. */
export function announceStall({ kind, agents, message }: Stall, context: RunContext): void {
  emit(context, { type: 'collab.stalled', kind, agents: [...agents], message })
  emit(context, { type: 'warning', message: `the team is stalled: ${message}` })
}

/** Ends the team when its leader's conversation has ended, with or without a failure. */
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
    hint: 'The leader should close each agent that it no longer needs (close_agent).',
  })
}
