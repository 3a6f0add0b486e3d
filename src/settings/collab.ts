import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from '../base/duration.ts'
import { roleSettingKeys } from './agents.ts'
import { byPrompt, down, frameTable, free, initialOf, type KeyRows, type SettingRow, type Values } from './setting.ts'
import type { DataPath } from '../base/data-text.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'

const keys = {
  enabled: {
    schema: ({ flag }) => flag,
    order: byPrompt,
    text: 'false: the table only configures agents. Default: true if a prompt file has the table.',
  },
  max_agents: {
    schema: ({ integer }) => integer(1, 1000),
    order: down,
    initial: 6,
    text: 'Maximum number of agents that work at the same time; more wait for their turn.',
  },
  max_depth: {
    schema: ({ integer }) => integer(1, 10),
    order: down,
    initial: 1,
    text: 'Nesting depth of agents: with 1, only the main agent starts agents.',
  },
  default_wait: {
    schema: ({ timeLimit }) => timeLimit,
    order: free,
    initial: '30s',
    text: 'The duration of a wait that sets none.',
  },
  min_wait: {
    schema: ({ duration }) => duration,
    order: free,
    initial: '10s',
    text: 'The shortest wait; a shorter one is extended to this.',
  },
  max_wait: {
    schema: ({ timeLimit }) => timeLimit,
    order: free,
    initial: '5m',
    text: 'The longest wait; a longer one is cut to this.',
  },
  return_when: {
    schema: ({ oneOf }) => oneOf('all', 'any'),
    order: free,
    initial: 'all',
    text: 'Whether a wait ends with all of its agents or with the first, unless the call sets it.',
  },
  on_stall: {
    schema: ({ oneOf }) => oneOf('tell', 'fail'),
    order: { rule: ['fail', 'tell'] },
    initial: 'tell',
    text: 'What happens if agents wait for each other forever: the model is notified, or the run fails.',
  },
  stall_after: {
    schema: ({ timeLimit }) => timeLimit,
    order: free,
    initial: '2m',
    text: 'The model is notified after this time without progress.',
  },
  budget: {
    order: down,
    text: 'Limits for all agents together.',
    keys: {
      usd: { schema: ({ number }) => number(0, 1e9), text: 'US dollars.' },
      tokens: { schema: ({ integer }) => integer(1), text: 'Tokens of their requests and answers.' },
      calls: { schema: ({ integer }) => integer(1), text: 'Model calls.' },
    },
  },
  roles: {
    order: byPrompt,
    text: 'Kinds of agents, by name. default, worker and orchestrator are built in.',
    each: 'name',
    settings: roleSettingKeys,
    keys: {
      agent: {
        schema: ({ name }) => name,
        text: 'A prompt file, or an agent of [agents], instead of all other keys but description.',
      },
      description: { schema: ({ text }) => text, text: 'What it is for; shown to the model that starts agents.' },
      instructions: {
        schema: ({ text }) => text,
        text: 'The start of its system message: text, or the name of a .md file.',
      },
    },
  },
} as const satisfies KeyRows

export const collab = {
  ...frameTable,
  starts: true,
  decides: true,
  text: 'The model starts agents, gives them work, waits for them and sends them follow-up requests.',
  check: (table) => checkRoles(table),
  keys,
} as const satisfies SettingRow

const defaults = initialOf(keys)

/** `[collab]` as written, after its types were checked and defaults filled in. */
type WrittenCollab = Values<typeof keys> & Required<Pick<Values<typeof keys>, keyof typeof defaults>>

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

/**
 * Whether a model leads a team: enabled by the presence of the table in its own file, or by `--collab`. In a config
 * file the table only configures teams.
 */
export function isCollab(table: Json | undefined): table is JsonObject {
  return isJsonObject(table ?? null) && (table as JsonObject)['enabled'] === true
}

/** The settings of a checked `collab` table, with defaults for what it leaves unset. */
export function readCollab(table: JsonObject): Collab {
  const written = { ...defaults, ...table } as WrittenCollab
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

/** The table that makes the model of a file lead a team. */
export function ownCollab(table: JsonObject): JsonObject {
  return { enabled: true, ...table }
}

/**
 * Inconsistencies in the merged `[collab]` settings, whose types are already checked; each layer may set some of them.
 */
export function checkWaits(table: Json | undefined): readonly Finding[] {
  if (!isCollab(table)) return []
  const waits = { ...defaults, ...table } as WrittenCollab
  const { min_wait: min, max_wait: max, default_wait: usual } = waits
  const written = (key: 'min_wait' | 'max_wait' | 'default_wait'): string =>
    `${key} (${waits[key]}${waits[key] === defaults[key] ? ', its default' : ''})`
  const wrong = (key: string, message: string, hint: string): readonly Finding[] => [
    wrongValue(['collab', key], { message, hint }),
  ]
  if (durationMs(min) > durationMs(max)) {
    const key = min === defaults.min_wait ? 'max_wait' : 'min_wait'
    const message = `[collab] ${written('min_wait')} is longer than ${written('max_wait')}`
    return wrong(key, message, 'Set both, with min_wait the shorter one.')
  }
  if (usual === defaults.default_wait) return []
  if (durationMs(usual) > durationMs(max)) {
    const message = `[collab] ${written('default_wait')} is longer than ${written('max_wait')}`
    return wrong('default_wait', message, 'Make it shorter, or set a longer max_wait.')
  }
  if (durationMs(usual) >= durationMs(min)) return []
  const message = `[collab] ${written('default_wait')} is shorter than ${written('min_wait')}`
  return wrong('default_wait', message, 'Make it longer, or set a shorter min_wait.')
}

/** Inconsistencies in checked `[collab.roles]`: bad names, and keys next to `agent` that the agent itself defines. */
function checkRoles(table: JsonObject, at: DataPath = ['collab']): readonly Finding[] {
  const { roles = null } = table
  if (!isJsonObject(roles)) return []
  return Object.entries(roles).flatMap(([name, role]) => {
    const path = [...at, 'roles', name]
    return [
      ...(isRoleName(name) ? [] : [badName(name, path)]),
      ...(isJsonObject(role) ? besideAgent(name, role, path) : []),
    ]
  })
}

function isRoleName(name: string): boolean {
  return /^[A-Za-z][\w-]{0,63}$/.test(name)
}

function badName(name: string, path: DataPath): Finding {
  const hint = 'Use at most 64 letters, digits, - and _, starting with a letter.'
  return wrongKey(path, { message: `"${name}" cannot be the name of a role`, hint })
}

function besideAgent(name: string, role: JsonObject, path: DataPath): readonly Finding[] {
  if (role['agent'] === undefined) return []
  return Object.keys(role)
    .filter((key) => key !== 'agent' && key !== 'description')
    .map((key) => {
      const message = `the role "${name}" has both agent and ${key}, but its agent has its own settings`
      return wrongKey([...path, key], { message, hint: `Keep one of them: set ${key} where the agent is defined.` })
    })
}
