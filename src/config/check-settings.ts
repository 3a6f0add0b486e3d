import type { Json, JsonObject } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'
import type { Finding } from './issue.ts'
import { isReserved, reserved, unavailableIn, type ReservedKey } from './keys.ts'
import { checkValue } from './schema.ts'

/** Checks one reserved key: what this version cannot do, types, ranges, unknown keys inside its table. */
export function checkReserved(key: ReservedKey, value: Json): readonly Finding[] {
  const findings = reserved.get(key)?.available === false ? [] : checkValue(key, value)
  if (findings.length > 0) return findings
  const missing = unavailableIn(key, value)
  if (missing === undefined) return []
  const message = `${missing.shown} is not available in this version`
  return [{ code: 'NOT_AVAILABLE', message, hint: 'Remove it.', path: missing.path, part: 'key' }]
}

/** Whose keys are checked: those of a file, or those of the command line. */
export type SettingsScope = 'user' | 'workspace' | 'trusted' | 'flag'

/**
 * Checks the keys of a config file or of `-c`, where every key must be known. Guarded keys of workspace files that are
 * not trusted are left to `checkTrust`.
 */
export function checkSettings(
  data: JsonObject,
  { scope, userFile }: { readonly scope: SettingsScope; readonly userFile: string },
): readonly Finding[] {
  const code = scope === 'flag' ? 'USAGE' : 'CONFIG_INVALID'
  return Object.entries(data).flatMap(([key, value]): readonly Finding[] => {
    const at = { code, path: [key], part: 'key' } as const
    if (!isReserved(key)) {
      const similar = nearest(key, settable)
      const hint = similar === undefined ? `Known keys: ${settable.join(', ')}.` : `Did you mean "${similar}"?`
      return [{ ...at, message: `unknown key "${key}"`, hint }]
    }
    const entry = reserved.get(key)
    if (entry?.isPromptOnly === true) {
      return [{ ...at, message: `"${key}" can be set in a prompt file only`, hint: 'Move it into the front matter.' }]
    }
    if (entry?.isGuarded === true && scope === 'workspace') return []
    if (entry?.isGuarded === true && scope === 'flag') {
      return [{ ...at, message: `"${key}" cannot be set by -c`, hint: `Put it into your config file ${userFile}.` }]
    }
    return checkReserved(key, value)
  })
}

const settable = [...reserved].flatMap(([key, entry]) => (entry.isPromptOnly || entry.available === false ? [] : [key]))
