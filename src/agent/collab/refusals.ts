import { modelText } from '../../base/model-text.ts'
import { type AgentStatus, leaderId, type TeamRequest } from '../../event/collab.ts'

/** The facts that a refusal depends on. */
export interface Standing {
  readonly maxDepth: number
  /** The number of agents that are not closed; only computed for a spawn. */
  readonly open: () => number
  readonly statusOf: (id: string) => AgentStatus
  /** Whether the agent is the other one or works for it, directly or through others. */
  readonly worksFor: (id: string, other: string) => boolean
}

/** Limit of open agents in one team: finished agents stay open for further messages until they are closed. */
const mostOpen = 1_000

/** The reason for refusing a call, as the model gets it (R105, R108 to R110); undefined if the call is allowed. */
export function refusalOf(request: TeamRequest, { maxDepth, open, statusOf, worksFor }: Standing): string | undefined {
  switch (request.kind) {
    case 'spawn':
      if (isBlank(request.message)) return emptyMessage
      if (request.depth >= maxDepth) return modelText`agent depth limit reached (max ${maxDepth}): do the work yourself`
      return open() >= mostOpen ? `agent thread limit reached (max ${mostOpen}): close agents first` : undefined
    case 'send': {
      const { to, text } = request
      if (isBlank(text)) return emptyMessage
      if (to === leaderId) return undefined
      if (!isUuid(to)) return invalidId(to)
      const status = statusOf(to)
      if (status === 'not_found') return notFound(to)
      return status === 'shutdown' ? `agent with id ${to} is closed` : undefined
    }
    case 'wait': {
      if (request.ids.length === 0) return modelText`ids must be non-empty`
      const wrong = request.ids.find((id) => id !== leaderId && !isUuid(id))
      return wrong === undefined ? undefined : invalidId(wrong)
    }
    case 'close': {
      const { id, by } = request
      if (id === leaderId) return modelText`the leader cannot be closed`
      if (!isUuid(id)) return invalidId(id)
      if (statusOf(id) === 'not_found') return notFound(id)
      return worksFor(by, id) ? `agent ${id} cannot be closed by itself or by agents that it spawned` : undefined
    }
  }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function isUuid(text: string): boolean {
  return uuid.test(text)
}

const emptyMessage = "Empty message can't be sent to an agent"

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function notFound(id: string): string {
  return modelText`agent with id ${id} not found`
}

function invalidId(id: string): string {
  return modelText`invalid agent id ${id}: use an id returned by spawn_agent, such as 67e55044-10b1-426f-9247-bb680e5fe0c8`
}
