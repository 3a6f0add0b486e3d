import type { DataPath } from '../base/data-text.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'
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
interface WrittenCollab {
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

/** The table of a file that the model leads a team by. */
export function ownCollab(table: JsonObject): JsonObject {
  return { enabled: true, ...table }
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

/** What of merged settings of `[collab]` does not fit together, once each is of the right type; each layer may say a part of them. */
export function checkWaits(table: Json | undefined): readonly Finding[] {
  if (!isCollab(table)) return []
  const waits = { ...defaults.collab, ...table } as unknown as WrittenCollab
  const { min_wait: min, max_wait: max, default_wait: usual } = waits
  const written = (key: 'min_wait' | 'max_wait' | 'default_wait'): string =>
    `${key} (${waits[key]}${waits[key] === defaults.collab[key] ? ', its default' : ''})`
  const wrong = (key: string, message: string, hint: string): readonly Finding[] => [
    wrongValue(['collab', key], { message, hint }),
  ]
  if (durationMs(min) > durationMs(max)) {
    const key = min === defaults.collab.min_wait ? 'max_wait' : 'min_wait'
    const message = `[collab] ${written('min_wait')} is longer than ${written('max_wait')}: no wait could be both`
    return wrong(key, message, 'Set both, the shorter one as min_wait.')
  }
  if (usual === defaults.collab.default_wait) return []
  if (durationMs(usual) > durationMs(max)) {
    const message = `[collab] ${written('default_wait')} is longer than ${written('max_wait')}`
    return wrong('default_wait', message, 'Make it shorter, or set a longer max_wait.')
  }
  if (durationMs(usual) >= durationMs(min)) return []
  const message = `[collab] ${written('default_wait')} is shorter than ${written('min_wait')}`
  return wrong('default_wait', message, 'Make it longer, or set a shorter min_wait.')
}

/** Keys of a role besides those of a model: its agent, what a model that spawns is told of it, and its system message. */
export const ownRoleKeys = ['agent', 'description', 'instructions'] as const

/** What of checked `[collab.roles]` does not fit together: names, and `agent` beside what that agent says itself. */
export function checkRoles(table: JsonObject, at: DataPath = ['collab']): readonly Finding[] {
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
  const hint = 'Use letters, digits, - and _, a letter first, and at most 64 of them.'
  return wrongKey(path, { message: `"${name}" cannot be the name of a role`, hint })
}

function besideAgent(name: string, role: JsonObject, path: DataPath): readonly Finding[] {
  if (role['agent'] === undefined) return []
  return Object.keys(role)
    .filter((key) => key !== 'agent' && key !== 'description')
    .map((key) => {
      const message = `the role "${name}" has both agent and ${key}: its agent has settings of its own`
      return wrongKey([...path, key], { message, hint: `Keep one of them: set ${key} where the agent is defined.` })
    })
}

/** The roles that are there without being written (R106); what they do not say they have from whoever starts them. */
export const builtInRoles: { readonly [name: string]: JsonObject } = {
  default: { description: 'Does what it is told, with your model and your tools.' },
  worker: {
    description: 'Does one piece of work and reports what came of it.',
    instructions: `You do one piece of work for another agent. Do what it asks, all of it, and nothing besides: others work on the rest at the same
time, in the same folder. Your last message is your only answer: say what you did and found, with the paths of the files that matter.`,
  },
  orchestrator: {
    description: 'Splits a large piece of work, and gives the parts to agents of its own where it may start some.',
    instructions: `You lead a piece of work for another agent. Split it into parts that do not need each other, and give each part to an agent of your
own, with all that it has to know: agents see nothing but what you send them. Wait for all of them at once rather than often. Ask an
agent again where its answer is not enough, and close each that you no longer need. Where you can start no agents, do the work
yourself. Your last message is your only answer: make one result of what they found.`,
  },
}
