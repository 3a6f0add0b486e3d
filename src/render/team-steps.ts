import type { RunEvent } from '../event/event.ts'
import { formatCost, formatUsage, oneLine } from './format.ts'
import type { Paint } from './style.ts'
import { isOfTeam } from './team-members.ts'

interface TeamContext {
  readonly paint: Paint
  /** Name and description of the agent at the place of the event. */
  readonly about: string | undefined
}

/** The events of a team worth a line: an agent has ended its work, an item is done. */
export function teamLine(event: RunEvent, { paint, about }: TeamContext): string | undefined {
  switch (event.type) {
    case 'agent.completed': {
      if (about === undefined || !isOfTeam(event.agent)) return undefined
      const how = event.stop_reason === 'stopped' ? paint('yellow', 'stopped') : paint('green', 'done')
      const paid = paidText(event)
      return `${how} ${oneLine(about, 100)}${paid === '' ? '' : `: ${paid}`}`
    }
    case 'agent.failed':
      if (about === undefined || !isOfTeam(event.agent)) return undefined
      return `${paint('red', 'failed')} ${oneLine(about, 100)}: ${oneLine(event.error.message, 200)}`
    case 'delegate.item': {
      const { id, subject, status, owner } = event
      if (status !== 'completed') return undefined
      return `${paint('green', 'item')} ${oneLine(id, 20)} done${owner === undefined ? '' : ` by ${oneLine(owner, 40)}`}: ${oneLine(subject, 100)}`
    }
    default:
      return undefined
  }
}

type AgentEnd = Extract<RunEvent, { readonly type: 'agent.completed' | 'agent.failed' }>

function paidText({ usage, cost_usd: cost = 0 }: AgentEnd): string {
  return [usage === undefined ? '' : formatUsage(usage), formatCost(cost)].filter((text) => text !== '').join(', ')
}
