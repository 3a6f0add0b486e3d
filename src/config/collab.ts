import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import { defaults } from './keys.ts'

/** `[collab]`, with its defaults (R102 to R105). Plain JSON. */
export interface Collab {
  /** Agents that work at once; others wait for their turn. */
  readonly maxAgents: number
  /** How deep agents may start agents: 1 is the agents of the leader alone. */
  readonly maxDepth: number
  readonly defaultWaitMs: number
  readonly minWaitMs: number
  readonly maxWaitMs: number
  readonly returnWhen: 'all' | 'any'
  /** What becomes of a team that cannot go on by itself: its leader is told, or the run fails. */
  readonly onStall: 'tell' | 'fail'
  readonly stallAfterMs: number
  /** Of all agents together; left out: that of the run alone. */
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly calls?: number }
  /** As they are written. */
  readonly roles: { readonly [name: string]: JsonObject }
}

/** `[collab]` as it is written, once its types were checked and it has its defaults. */
export interface WrittenCollab {
  readonly max_agents: number
  readonly max_depth: number
  readonly default_wait: string
  readonly min_wait: string
  readonly max_wait: string
  readonly return_when: Collab['returnWhen']
  readonly on_stall: Collab['onStall']
  readonly stall_after: string
  readonly budget?: NonNullable<Collab['budget']>
  readonly roles?: Collab['roles']
}

/**
 * Whether a model leads a team: the table of its own file says so by being there, and `--collab`. In a config file the table only
 * says how.
 */
export function isCollab(table: Json | undefined): table is JsonObject {
  return isJsonObject(table ?? null) && (table as JsonObject)['enabled'] === true
}

/** The settings of a checked `collab` table; what it does not say are the defaults. */
export function readCollab(table: JsonObject): Collab {
  const written = { ...defaults.collab, ...table } as unknown as WrittenCollab
  const { max_agents, max_depth, return_when, on_stall, budget, roles = {} } = written
  const minWaitMs = durationMs(written.min_wait)
  const maxWaitMs = durationMs(written.max_wait)
  return {
    maxAgents: max_agents,
    maxDepth: max_depth,
    // a default that nobody has written fits the limits that somebody has
    defaultWaitMs: Math.min(maxWaitMs, Math.max(minWaitMs, durationMs(written.default_wait))),
    minWaitMs,
    maxWaitMs,
    returnWhen: return_when,
    onStall: on_stall,
    stallAfterMs: durationMs(written.stall_after),
    ...defined({ budget }),
    roles,
  }
}

/** Of a text that was checked. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0
}
