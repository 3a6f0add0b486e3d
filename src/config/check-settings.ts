import * as z from 'zod'
import { type DataPath, pathText, quotedPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, suggestionHint, mismatch, wrongKey, wrongValue } from '../settings/issue.ts'
import {
  type ReservedKey,
  isGuarded,
  isRequestKey,
  isReserved,
  isSetting,
  reserved,
  unavailableIn,
} from '../settings/keys.ts'
import { checkWaits, ownCollab } from '../settings/collab.ts'
import { schemas } from '../settings/schema.ts'

/** Whose keys are checked: those of a file, or those of the command line. */
export type SettingsScope = 'user' | 'workspace' | 'trusted' | 'flag'

/**
 * Checks the keys of a config file or of `-c`, where every key must be known. Guarded keys of untrusted workspace files
 * are left to `checkTrust`.
 */
export function checkSettings(
  data: JsonObject,
  { scope, userFile }: { readonly scope: SettingsScope; readonly userFile: string },
): readonly Finding[] {
  const code = scope === 'flag' ? 'USAGE' : 'CONFIG_INVALID'
  return Object.entries(data).flatMap(([key, value]) => {
    const misplaced = (message: string, hint: string) => [{ ...wrongKey([key], { message, hint }), code } as const]
    if (!isSetting(key))
      return misplaced(`unknown key "${key}"`, suggestionHint(key, settable, `Known keys: ${settable.join(', ')}.`))
    const entry = reserved.get(key)
    if (entry?.isPromptOnly === true)
      return misplaced(`"${key}" can only be set in a prompt file`, 'Move it into the front matter.')
    if (isGuarded(key) && scope === 'workspace') return []
    if (isGuarded(key) && scope === 'flag')
      return misplaced(`"${key}" cannot be set by -c`, `Set it in your config file ${userFile}.`)
    const isHow = key === 'collab' && scope !== 'flag' && isJsonObject(value) && value['enabled'] !== undefined
    const startsTeams = isHow ? [onlyInPrompts] : []
    return [...startsTeams, ...checkReserved(key, value)]
  })
}

const onlyInPrompts: Finding = wrongKey(['collab', 'enabled'], {
  message: '"collab.enabled" can only be set in a prompt file: in a config file, [collab] only configures agents',
  hint: 'Remove it, and write [collab] into the prompt file, or run the file with --collab.',
})

const settable = [...reserved].flatMap(([key, entry]) => (entry.isPromptOnly ? [] : [key]))

/**
 * Checks one reserved key: values that are not available in this version, types, ranges, unknown keys inside its table.
 */
export function checkReserved(key: ReservedKey, value: Json): readonly Finding[] {
  const findings = checkValue(key, value)
  if (findings.length > 0) return findings
  const inside = isJsonObject(value) ? (reserved.get(key)?.check?.(value, checkOption) ?? []) : []
  if (inside.length > 0) return inside
  const missing = unavailableIn(key, value)
  if (missing === undefined) return []
  const said = { message: `${missing.shown} is not available in this version`, hint: 'Remove it.' }
  return [{ ...wrongKey(missing.path, said), code: 'NOT_AVAILABLE' }]
}

/** What is wrong with an option for the main agent: only request keys are allowed. */
function checkOption(key: string, value: Json, at: DataPath): readonly Finding[] {
  if (isReserved(key) && isRequestKey(key))
    return checkReserved(key, value).map((found) => ({ ...found, path: [...at, ...found.path] }))
  const known = [...reserved.keys()].filter(isRequestKey)
  const message = `unknown option "${key}" of a step without an agent`
  const otherwise = 'Options for the main agent are model, temperature, context_globs and the like.'
  return [wrongKey([...at, key], { message, hint: suggestionHint(key, known, otherwise) })]
}

/** What is wrong with the value of a reserved key: types, ranges, and unknown keys in tables. */
export function checkValue(key: ReservedKey, value: Json): readonly Finding[] {
  const result = schemas[key].safeParse(value, { reportInput: true })
  if (result.success) return []
  const findings = result.error.issues.flatMap((issue) => readIssue(issue, [key]))
  // one value can break several rules that have the same message
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()]
}

function readIssue(issue: z.core.$ZodIssue, prefix: DataPath): readonly Finding[] {
  const path = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
  if (issue.code === 'unrecognized_keys') return issue.keys.map((unknown) => unknownKey([...path, unknown]))
  // if the value has the shape of one alternative, its inner errors are more precise
  const alternatives = issue.code === 'invalid_union' ? issue.errors : []
  const inside = alternatives.find((inner) => inner.length > 0 && inner.every((each) => each.path.length > 0))
  if (inside !== undefined) return inside.flatMap((inner) => readIssue(inner, path))
  return [wrong(path, issue.message, issue.input as Json | undefined)]
}

function unknownKey(path: DataPath): Finding {
  const written = String(path.at(-1))
  const known = knownKeys(path.slice(0, -1))
  const table = pathText(path.slice(0, -1))
  const message = `unknown key "${written}" in ${table}`
  if (!/key|token|secret|password/i.test(written)) {
    return wrongKey(path, {
      message,
      hint: suggestionHint(written, known, `Known keys of ${table}: ${known.join(', ')}.`),
    })
  }
  const place =
    path[0] === 'mcp_servers' ? 'bearer_token_env, or a reference such as ${NAME} into headers' : 'api_key_env'
  const hint = `Keys come from the environment only: put the name of the variable into ${place}.`
  return { ...wrongKey(path, { message, hint }), isSecret: true }
}

function knownKeys(path: DataPath): readonly string[] {
  let schema: unknown = schemas[String(path[0]) as ReservedKey]
  for (const step of path.slice(1)) schema = innerSchema(schema, step)
  const found = unwrapped(schema)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : []
}

function innerSchema(schema: unknown, step: string | number): unknown {
  const outer = unwrapped(schema)
  if (outer instanceof z.ZodObject) return (outer.shape as Readonly<Record<string, unknown>>)[String(step)]
  if (outer instanceof z.ZodRecord) return outer.valueType
  if (outer instanceof z.ZodArray) return outer.element
  return undefined
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodExactOptional ? schema.unwrap() : schema
}

function wrong(path: DataPath, expected: string, value: Json | undefined): Finding {
  const name = quotedPath(path)
  if (value === undefined) return wrongValue(path, { message: `${name} is missing`, hint: `Add it: ${expected}.` })
  if (!holdsSecret(path)) return mismatch(path, expected, value)
  const said = { message: `${name} must be ${expected}`, hint: `Write ${expected}.` }
  return { ...wrongValue(path, said), isSecret: true }
}

const secretKeys = ['api_key_env', 'api_key_command', 'secrets', 'base_url']
/** Keys of `[mcp_servers]`; `args` is included because many servers take their key there. */
const secretServerKeys = ['command', 'args', 'env', 'url', 'headers', 'bearer_token_env']

function holdsSecret(path: DataPath): boolean {
  if (path[0] === 'mcp_servers') return secretServerKeys.includes(String(path[2]))
  return secretKeys.some((key) => path.includes(key))
}

/** Checks the option `collab` of a script agent. The table has the keys of `[collab]` in prompt files. */
export function collabFindings(table: JsonObject): readonly Finding[] {
  const findings = checkReserved('collab', table)
  return findings.length > 0 ? findings : checkWaits(ownCollab(table))
}
