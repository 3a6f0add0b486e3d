import type { Clock } from '../../src/base/clock.ts'
import { createCoordinator } from '../../src/team/core/coordinator.ts'
import {
  type AgentStatus,
  type AgentWork,
  type CollabSettings,
  leaderId,
  type Mail,
  type PieceEnd,
  type PieceTerms,
  type Team,
  type TeamEvent,
  type WaitEnd,
} from '../../src/event/collab.ts'
import { fakeClock } from './fake-clock.ts'

/** The id of the agent with this number. */
export function agentId(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

export function mailOf(id: string, from: string, { text = id, interrupts = false } = {}): Mail {
  return { id, from, text, interrupts }
}

/** What an agent does with the texts at the start of a piece of work. It may run whenever this is called. */
export type Piece = (texts: readonly string[], terms: PieceTerms) => Promise<PieceEnd> | PieceEnd

/** An agent without a record: `piece` processes each message that arrives. */
export function scriptedWork(piece: Piece, withdraw = async (): Promise<void> => {}): AgentWork {
  return {
    begin: (arrive) => arrive(),
    async piece(mail, terms) {
      await terms.live()
      return piece(
        mail.map(({ text }) => text),
        terms,
      )
    },
    withdraw,
  }
}

export function done(text: string | null): PieceEnd {
  return { kind: 'completed', text }
}

/** Runs until it is stopped. */
export function untilStopped({ stop }: PieceTerms): Promise<PieceEnd> {
  return new Promise((_, reject) => {
    if (stop.aborted) reject(stop.reason as Error)
    stop.addEventListener('abort', () => reject(stop.reason as Error))
  })
}

export interface TestTeam {
  readonly team: Team
  readonly events: readonly TeamEvent[]
  /** The statuses of an agent, in order. */
  readonly statusesOf: (id: string) => readonly AgentStatus[]
  /** Adds the agent with this number, whose text is `work`. */
  readonly spawn: (number: number, piece: Piece, more?: { readonly parent?: string; readonly depth?: number }) => string
  readonly wait: (
    ids: readonly string[],
    more?: {
      readonly ms?: number
      readonly returnWhen?: 'all' | 'any'
      readonly waiter?: string
      readonly signal?: AbortSignal
    },
  ) => Promise<WaitEnd>
}

export function testTeam({
  clock = fakeClock(),
  ...settings
}: Partial<CollabSettings> & { readonly clock?: Clock } = {}): TestTeam {
  const team = createCoordinator({
    settings: { maxAgents: 6, maxDepth: 1, onStall: 'tell', stallAfterMs: 1_000_000, ...settings },
    clock,
  })
  const events: TeamEvent[] = []
  team.watch((event) => events.push(event))
  return {
    team,
    events,
    statusesOf: (id) => events.flatMap((event) => (event.kind === 'status' && event.id === id ? [event.status] : [])),
    spawn(number, piece, { parent = leaderId, depth = 1 } = {}) {
      const id = agentId(number)
      const message = mailOf(`spawn/${number}`, parent, { text: 'work' })
      team.spawn({ id, parent, depth, role: 'worker', message, work: scriptedWork(piece) })
      return id
    },
    wait: (ids, { ms = 30_000, returnWhen = 'all', waiter = leaderId, signal = new AbortController().signal } = {}) =>
      team.wait(waiter, ids, { ms, returnWhen }, signal),
  }
}

/** Lets everything run that takes no time. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
