import { sha256 } from '../../base/hash.ts'
import type { Team } from '../../event/collab.ts'
import { type RunContext, withServices } from '../../event/context.ts'
import { canonicalText } from '../message-log.ts'
import { originOf, type Place } from '../../event/place.ts'

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
