import { modelText } from '../../base/model-text.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'
import type { JsonObject } from '../../base/json.ts'
import { type AgentStatus, teamSpellings } from '../../event/collab.ts'
import type { Inbox } from '../../event/inbox.ts'
import { callPlace } from '../../event/place.ts'
import { defineTool, type ToolKind } from '../../tool/toolbox/kind.ts'
import type { Child } from '../subagents/children.ts'

/** The parameter that names a worker. */
export const workerParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  description: modelText`The agent_id or name of a worker.`,
}

/** How long calls wait, in milliseconds. */
export interface Waits {
  readonly defaultMs: number
  readonly minMs: number
  readonly maxMs: number
}

interface Waiting {
  readonly waits: Waits
  readonly find: (id: string) => Child | undefined
  /** Of the leader: ends reported by a call are not delivered again. */
  readonly inbox: Inbox
}

/** The status of a worker as the leader sees it. */
export function statusOf({ state }: Child): AgentStatus {
  const now = state()
  if (now.kind !== 'ended') return 'running'
  const { status, text, error } = now.end
  if (status === 'stopped') return 'shutdown'
  return status === 'failed' ? { errored: error?.message ?? text } : { completed: text }
}

type Waited = {
  readonly status: { readonly [id: string]: AgentStatus }
  readonly timed_out: boolean
  /** Ids of the agents whose end this reports. */
  readonly seen: readonly string[]
}

/** The leader's tool `wait`. Its result is an observation. */
export function waitKind({ waits: { minMs, maxMs, defaultMs }, find, inbox }: Waiting): ToolKind {
  return defineTool<{
    readonly ids: readonly string[]
    readonly timeout_seconds?: number
    readonly return_when?: 'all' | 'any'
  }>({
    name: 'wait',
    description: modelText`Wait until all or any of these workers have ended, and get their last messages.`,
    parameters: {
      type: 'object',
      properties: {
        ids: { type: 'array', items: workerParameter, minItems: 1 },
        timeout_seconds: { type: 'number', exclusiveMinimum: 0 },
        return_when: { enum: ['all', 'any'] },
      },
      required: ['ids'],
      additionalProperties: false,
    },
    spellings: teamSpellings.wait,
    callsOthers: true,
    turn: 'after',
    async run({ ids, timeout_seconds: seconds, return_when: when = 'all' }, { context, at }) {
      const ms = Math.min(maxMs, Math.max(minMs, seconds === undefined ? defaultMs : seconds * 1000))
      const found = ids.map(find)
      const asked = { name: 'wait', args: { ids: [...ids], return_when: when } }
      const { effects, signal } = context.services
      const waited = await effects.observeAsync<Waited>(callPlace(at, 0), asked, async () => {
        const known = found.filter((child) => child !== undefined)
        const ends = known.map(({ ended }) => ended.catch(() => undefined))
        const all = known.length < ids.length && when === 'any' ? Promise.resolve() : undefined
        await unlessAborted(atMost(ms, all ?? (when === 'all' ? Promise.all(ends) : Promise.race(ends))), signal)
        refuseHeld(known)
        const status = Object.fromEntries(
          ids.map((id, index) => [id, found[index] === undefined ? ('not_found' as const) : statusOf(found[index])]),
        )
        const ended = known.filter(({ state }) => state().kind === 'ended')
        const isMet = when === 'all' ? ended.length === known.length : ended.length > 0 || known.length < ids.length
        return { status, timed_out: !isMet, seen: ended.map(({ order }) => order.id) }
      })
      const { seen, ...result } = waited
      inbox.know(seen)
      return { text: JSON.stringify(result) }
    },
  })
}

/** Throws the suspension of the workers if none of them is working. */
function refuseHeld(children: readonly Child[]): void {
  const states = children.map(({ state }) => state())
  for (const state of states) if (state.kind === 'broken' && !isSuspension(state.error)) throw state.error
  if (states.some(({ kind }) => kind === 'running' || kind === 'ended')) return
  for (const state of states) if (state.kind === 'broken') throw state.error
}
