import { type Clock, systemClock } from '../../base/clock.ts'
import { type Collab, type CollabSettings, leaderId, type TeamBudget, type TeamEvent } from '../../event/collab.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { announceStall, emitStatus } from '../core/events.ts'
import { watchProgress } from '../core/stalls.ts'
import { createCoordinator } from '../core/coordinator.ts'
import { nameOf } from '../core/member.ts'
import type { BudgetLimits } from '../../event/effects.ts'

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
      return emitStatus({ id, role, name: nameOf(id, role) }, status, context)
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
    message: `the model left agents open, which ended with its answer: ${names.join(', ')}`,
    hint: 'What they did is in baton runs show last --messages. To have fewer open at a time, say in the instruction that agents are to be closed.',
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
