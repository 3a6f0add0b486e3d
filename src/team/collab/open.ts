import { type Clock, systemClock } from '../../base/clock.ts'
import {
  type Collab,
  type CollabSettings,
  leaderId,
  type Team,
  type TeamBudget,
  type TeamEvent,
} from '../../event/collab.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { tellStatus } from '../core/events.ts'
import { createCoordinator } from '../core/coordinator.ts'
import type { Stall } from '../core/stalls.ts'
import { nameOf } from '../core/member.ts'
import type { BudgetLimits } from '../../event/effects.ts'
import { sha256 } from '../../base/hash.ts'
import { canonicalText } from '../../agent/message-log.ts'
import { originOf, type Place } from '../../event/place.ts'

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
      return tellStatus({ id, role, name: nameOf(id, role) }, status, context)
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

const measures = ['calls', 'tokens', 'usd'] as const
type Amounts = { readonly [M in (typeof measures)[number]]: number }

const nothing: Amounts = { calls: 0, tokens: 0, usd: 0 }

export function createTeamBudget(budget: Partial<BudgetLimits> | undefined): TeamBudget {
  let spent = nothing
  const lent = new Map<string, Partial<Amounts>>()

  function held(measure: keyof Amounts): number {
    return [...lent.values()].reduce((sum, one) => sum + (one[measure] ?? 0), 0)
  }

  return {
    lend(piece, among, parent = '') {
      if (budget === undefined) return undefined
      if (lent.has(parent)) {
        // uses the share of its parent, and so do the agents that it starts in turn
        lent.set(piece, {})
        return undefined
      }
      // agents that hold a share are counted, but what they hold is set aside
      const others = Math.max(1, among - lent.size)
      const limits = measures.flatMap((measure) => {
        const limit = budget[measure]
        if (limit === undefined) return []
        const left = Math.max(0, limit - spent[measure] - held(measure))
        return [[measure, measure === 'usd' ? left / others : Math.floor(left / others)] as const]
      })
      const share = Object.fromEntries(limits) as Partial<Amounts>
      lent.set(piece, share)
      return { ...share, unpriced: budget.unpriced ?? 'deny' }
    },
    settle(piece, { usage, costUsd }) {
      lent.delete(piece)
      spent = {
        calls: spent.calls + usage.calls,
        tokens: spent.tokens + usage.input + usage.output,
        usd: spent.usd + (costUsd ?? 0),
      }
    },
    release: (piece) => void lent.delete(piece),
  }
}

/**
 * The same context, except that the member's progress, its calls and the time it spends asking the user are reported to
 * the team.
 */
export function watchProgress(
  { team, id }: { readonly team: Pick<Team, 'asking' | 'called' | 'progressed'>; readonly id: string },
  context: RunContext,
): RunContext {
  const { events, asking } = context.services
  const own = originOf(context.scope.at).length
  const inputs = new Map<string, unknown>()

  return withServices(context, {
    events(place, event) {
      events(place, event)
      if (isOfAgent(place, own)) return
      switch (event.type) {
        case 'tool.started':
          inputs.set(event.id, event.input)
          return team.progressed(id)
        case 'tool.completed': {
          const { id: call, name, output } = event
          team.called(
            id,
            name,
            sha256(JSON.stringify([name, canonicalText(JSON.stringify(inputs.get(call) ?? null)), output])),
          )
          return void inputs.delete(call)
        }
        case 'item.delta':
        case 'item.completed':
          return team.progressed(id)
        default:
      }
    },
    async asking(ask) {
      const done = team.asking()
      try {
        return await (asking === undefined ? ask() : asking(ask))
      } finally {
        done()
      }
    },
  })
}

/** The work of agents that the member started does not count as its own. */
function isOfAgent(place: Place, own: number): boolean {
  const below = originOf(place).slice(own)
  return below.some(({ kind }, index) => kind === 'agent' && below[index - 1]?.kind === 'tool')
}
