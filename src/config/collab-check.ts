import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isCollab, type WrittenCollab } from './collab.ts'
import { parseDuration } from './duration.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'
import { defaults } from './keys.ts'

/** The table that makes the model of a file lead a team. */
export function ownCollab(table: JsonObject): JsonObject {
  return { enabled: true, ...table }
}

/**
 * Inconsistencies in the merged `[collab]` settings, whose types are already checked; each layer may set some of them.
 */
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
    const message = `[collab] ${written('min_wait')} is longer than ${written('max_wait')}`
    return wrong(key, message, 'Set both, with min_wait the shorter one.')
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

/** Inconsistencies in checked `[collab.roles]`: bad names, and keys next to `agent` that the agent itself defines. */
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

/** For text that has been checked. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0
}
