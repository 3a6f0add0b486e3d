import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import { type Finding, meantHint, mismatch, type Rules, wrongKey } from './issue.ts'

/** What is said about the model, and is handed on to whoever is in place of the main agent. */
export const modelOptions = [
  'model',
  'model_aliases',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'seed',
] as const

/** Options of script agents. Not zod schemas: a run of a script should not load them for a few keys. */
const rules: Rules = {
  model: { expected: 'text that is not empty', fits: isName },
  temperature: { expected: 'a number', fits: (value) => typeof value === 'number' },
  top_p: { expected: 'a number', fits: (value) => typeof value === 'number' },
  input_concurrency: {
    expected: 'a whole number of at least 1',
    fits: (value) => Number.isInteger(value) && Number(value) >= 1,
  },
  allow_run_on_task_fail: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  fallback_models: { expected: 'a list of models', fits: (value) => Array.isArray(value) && value.every(isName) },
  mode: { expected: 'text that is not empty', fits: isName },
  tools: { expected: 'a list of tools', fits: (value) => Array.isArray(value) && value.every(isName) },
  // what is inside of it is checked where it is read
  collab: { expected: 'a table', fits: isJsonObject },
  timeout: {
    expected: 'a duration above zero such as "30s" or "10m"',
    fits: (value) => typeof value === 'string' && (parseDuration(value) ?? 0) > 0,
  },
  model_aliases: {
    expected: 'a table of texts',
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
  /** Keys that nothing reads: warnings in `check`, silent in a run. */
  readonly unknown: readonly Finding[]
}

/** Checks the options of script agents; they are at `path` in their file. */
export function checkAgentOptions(options: JsonObject, path: DataPath): CheckedOptions {
  const values: { [key: string]: Json } = {}
  const findings: Finding[] = []
  const unknown: Finding[] = []
  for (const [key, value] of Object.entries(options)) {
    const at = [...path, key]
    const rule = keys.includes(key) ? rules[key] : undefined
    if (rule === undefined) {
      const hint = meantHint(key, keys, `Options that are read: ${keys.join(', ')}.`)
      unknown.push(wrongKey(at, { message: `nothing reads the option "${key}"`, hint }))
    } else if (rule.fits(value)) values[key] = value
    else findings.push(mismatch(at, rule.expected, value))
  }
  return { values, findings, unknown }
}

interface AgentSettings {
  readonly fallback_models?: readonly string[]
}

/**
 * What agents start from: the options among `own`, the settings of their caller. But `fallback_models` of a prompt file
 * is for its main agent alone, so agents have the list of `config`, the config files. Who may start agents says so itself.
 */
export function inheritedOptions(own: AgentSettings, config: AgentSettings): JsonObject {
  const { fallback_models: _, collab: _collab, ...options } = pickAgentOptions(own)
  const { fallback_models: names = [] } = config
  return names.length === 0 ? options : { ...options, fallback_models: names as readonly Json[] }
}

/** The options of script agents among settings. */
export function pickAgentOptions(settings: object): JsonObject {
  const picked = Object.entries(settings).filter(([key, value]) => keys.includes(key) && value !== undefined)
  return Object.fromEntries(picked) as JsonObject
}
