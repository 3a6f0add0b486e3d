import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import { defaults } from './keys.ts'

/** `[collab]`, with its defaults. Plain JSON. */
export interface Collab {
  /** Agents that work at the same time; others wait for their turn. */
  readonly maxAgents: number
  /** Nesting depth of agents: with 1, only the leader starts agents. */
  readonly maxDepth: number
  readonly defaultWaitMs: number
  readonly minWaitMs: number
  readonly maxWaitMs: number
  readonly returnWhen: 'all' | 'any'
  /** What happens to a deadlocked team: its leader is notified, or the run fails. */
  readonly onStall: 'tell' | 'fail'
  readonly stallAfterMs: number
  /** For all agents together; default: only the budget of the run. */
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly calls?: number }
  /** As written. */
  readonly roles: { readonly [name: string]: JsonObject }
}

/** `[collab]` as written, after its types were checked and defaults filled in. */
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
 * Whether a model leads a team: enabled by the presence of the table in its own file, or by `--collab`. In a config
 * file the table only configures teams.
 */
export function isCollab(table: Json | undefined): table is JsonObject {
  return isJsonObject(table ?? null) && (table as JsonObject)['enabled'] === true
}

/** The settings of a checked `collab` table, with defaults for what it leaves unset. */
export function readCollab(table: JsonObject): Collab {
  const written = { ...defaults.collab, ...table } as unknown as WrittenCollab
  const { max_agents, max_depth, return_when, on_stall, budget, roles = {} } = written
  const minWaitMs = durationMs(written.min_wait)
  const maxWaitMs = durationMs(written.max_wait)
  return {
    maxAgents: max_agents,
    maxDepth: max_depth,
    // a default adapts to the limits that are written
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

/** For text that has been checked. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0
}
