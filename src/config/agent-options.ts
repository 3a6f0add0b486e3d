import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'
import { describeValue } from './describe.ts'
import type { Finding } from './issue.ts'

/** What each option of a script agent must be; completes the sentence `"key" must be …`. */
const expected: { readonly [key: string]: { readonly what: string; readonly fits: (value: Json) => boolean } } = {
  model: { what: 'text that is not empty', fits: isName },
  temperature: { what: 'a number', fits: isNumber },
  top_p: { what: 'a number', fits: isNumber },
  input_concurrency: {
    what: 'a whole number of at least 1',
    fits: (value) => isNumber(value) && Number.isInteger(value) && Number(value) >= 1,
  },
  allow_run_on_task_fail: { what: 'true or false', fits: (value) => typeof value === 'boolean' },
  fallback_models: {
    what: 'a list of models',
    fits: (value) => Array.isArray(value) && (value as readonly Json[]).every(isName),
  },
  model_aliases: {
    what: 'a table of texts',
    fits: (value) => isJsonObject(value) && Object.values(value).every(isName),
  },
}

const keys = Object.keys(expected)

export interface CheckedOptions {
  /** Options that are known and right. */
  readonly values: JsonObject
  readonly findings: readonly Finding[]
  /** Keys that nothing reads: warnings in `check`, silent in a run (DESIGN 3). */
  readonly unknown: readonly Finding[]
}

/**
 * Checks the options of script agents (spec/aipack.md 1.5): `[options]` of AIPack's config, which is at `path` in its
 * file. Written by hand, because a run of a small agent should not load the schemas for six keys.
 */
export function checkAgentOptions(options: JsonObject, path: DataPath): CheckedOptions {
  const known = Object.entries(options).filter(([key]) => Object.hasOwn(expected, key))
  const isRight = ([key, value]: [string, Json]): boolean => expected[key]?.fits(value) === true
  return {
    values: Object.fromEntries(known.filter(isRight)),
    findings: known.filter((entry) => !isRight(entry)).map(([key, value]) => wrongValue([...path, key], value)),
    unknown: Object.keys(options)
      .filter((key) => !Object.hasOwn(expected, key))
      .map((key) => unknownKey([...path, key])),
  }
}

interface AgentSettings {
  readonly fallback_models?: readonly string[]
}

/**
 * What agents start from: the options among `own`, the settings of who runs them. But `fallback_models` of a prompt file
 * is for its main agent alone, so agents have the list of `config`, the config files.
 */
export function inheritedOptions(own: AgentSettings, config: AgentSettings): JsonObject {
  const { fallback_models: _, ...options } = pickAgentOptions(own)
  const { fallback_models: names = [] } = config
  return names.length === 0 ? options : { ...options, fallback_models: names as readonly Json[] }
}

/** The options of script agents among settings. */
export function pickAgentOptions(settings: object): JsonObject {
  const picked = Object.entries(settings).filter(([key, value]) => keys.includes(key) && value !== undefined)
  return Object.fromEntries(picked) as JsonObject
}

function isName(value: Json): boolean {
  return typeof value === 'string' && value !== ''
}

function isNumber(value: Json): boolean {
  return typeof value === 'number'
}

function wrongValue(path: DataPath, value: Json): Finding {
  const key = String(path.at(-1))
  const what = expected[key]?.what ?? ''
  const message = `"${key}" must be ${what}, not ${describeValue(value)}`
  return { code: 'CONFIG_INVALID', message, hint: `Write ${what}.`, path, part: 'value' }
}

function unknownKey(path: DataPath): Finding {
  const key = String(path.at(-1))
  const similar = nearest(key, keys)
  const hint = similar === undefined ? `Options that are read: ${keys.join(', ')}.` : `Did you mean "${similar}"?`
  return { code: 'CONFIG_INVALID', message: `nothing reads the option "${key}"`, hint, path, part: 'key' }
}
