import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from '../base/duration.ts'
import { type Finding, suggestionHint, mismatch, type Rules, wrongKey } from '../settings/issue.ts'

/** What concerns the model; it also applies to an agent that replaces the main agent. */
export const modelOptions = [
  'model',
  'model_aliases',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'seed',
] as const

/** Options of script agents. Not zod schemas, so that script runs do not load zod for a few keys. */
const rules: Rules = {
  model: { expected: 'non-empty text', fits: isName },
  temperature: { expected: 'a number', fits: (value) => typeof value === 'number' },
  top_p: { expected: 'a number', fits: (value) => typeof value === 'number' },
  input_concurrency: {
    expected: 'a whole number of at least 1',
    fits: (value) => Number.isInteger(value) && Number(value) >= 1,
  },
  allow_run_on_task_fail: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  fallback_models: { expected: 'a list of models', fits: (value) => Array.isArray(value) && value.every(isName) },
  mode: { expected: 'non-empty text', fits: isName },
  max_rounds: {
    expected: 'a whole number of at least 1',
    fits: (value) => Number.isInteger(value) && Number(value) >= 1,
  },
  tools: { expected: 'a list of tools', fits: (value) => Array.isArray(value) && value.every(isName) },
  // the content is checked where it is read
  collab: { expected: 'a table', fits: isJsonObject },
  timeout: {
    expected: 'a duration above zero such as "30s" or "10m"',
    fits: (value) => typeof value === 'string' && (parseDuration(value) ?? 0) > 0,
  },
  model_aliases: {
    expected: 'a table of strings',
    fits: (value) => isJsonObject(value) && Object.values(value).every(isName),
  },
}

const keys = Object.keys(rules)

function isName(value: Json): boolean {
  return typeof value === 'string' && value !== ''
}

export interface CheckedOptions {
  readonly values: JsonObject
  readonly findings: readonly Finding[]
  /** Unknown keys: warnings in `check`, silent in a run. */
  readonly unknown: readonly Finding[]
}

/** Checks the options of script agents, which are at `path` in their file. */
export function checkAgentOptions(options: JsonObject, path: DataPath): CheckedOptions {
  const values: { [key: string]: Json } = {}
  const findings: Finding[] = []
  const unknown: Finding[] = []
  for (const [key, value] of Object.entries(options)) {
    const at = [...path, key]
    const rule = keys.includes(key) ? rules[key] : undefined
    if (rule === undefined) {
      const hint = suggestionHint(key, keys, `Known options: ${keys.join(', ')}.`)
      unknown.push(wrongKey(at, { message: `nothing reads the option "${key}"`, hint }))
    } else if (rule.fits(value)) values[key] = value
    else findings.push(mismatch(at, rule.expected, value))
  }
  return { values, findings, unknown }
}

interface AgentSettings {
  readonly fallback_models?: readonly string[]
  readonly max_rounds?: number
}

/**
 * The options that agents start with: those in `own`, the settings of their caller. But `fallback_models` and
 * `max_rounds` of a prompt file apply only to its main agent, so agents get those of `config`, the config files and `-c`.
 * `collab` is not inherited:
 * each agent sets its own.
 */
export function inheritedOptions(own: AgentSettings, config: AgentSettings): JsonObject {
  const { fallback_models: _, max_rounds: _rounds, collab: _collab, ...options } = pickAgentOptions(own)
  const { fallback_models: names = [], max_rounds: rounds } = config
  return {
    ...options,
    ...(names.length === 0 ? {} : { fallback_models: names as readonly Json[] }),
    ...(rounds === undefined ? {} : { max_rounds: rounds }),
  }
}

/** Picks the options of script agents from settings. */
export function pickAgentOptions(settings: object): JsonObject {
  const picked = Object.entries(settings).filter(([key, value]) => keys.includes(key) && value !== undefined)
  return Object.fromEntries(picked) as JsonObject
}
