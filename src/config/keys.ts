import type { DataPath } from '../base/data-text.ts'
import { isObject, type Json } from '../base/json.ts'

const globKeys = [
  ...globForms('context_globs'),
  ...globForms('knowledge_globs'),
  ...globForms('structure_globs'),
  ...globForms('working_globs'),
] as const

/** Keys a chain may change (DESIGN 5 "What a chain may change"). */
const requestKeys = [
  'model',
  'model_aliases',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'seed',
  'input_concurrency',
  'file_content_mode',
  'max_files_size_kb',
  ...globKeys,
] as const

/** Keys that say what one prompt file is; they have no place in config files and flags. */
const promptKeys = [
  'name',
  'description',
  'agent',
  'params',
  'template',
  'input',
  'output',
  'sub_agents',
  'test',
] as const

/** Keys that files which come with a folder may not set (DESIGN 3 "Trust"). */
const guardedKeys = ['providers', 'gateway', 'mcp_servers', 'plugins', 'permission', 'sandbox'] as const

const frameKeys = [
  ...promptKeys,
  ...guardedKeys,
  'fallback_models',
  'reasoning_summary',
  'mode',
  'max_rounds',
  'max_turns',
  'timeout',
  'budget',
  'partial',
  'runs',
  'base_dir',
  'write_mode',
  'tools',
  'disallowed_tools',
  'iterate',
  'collab',
  'ensemble',
  'delegate',
  'workflow',
  'code',
  'agents',
  'retry',
  'timeouts',
  'lua',
  'secrets',
  'instructions',
  'allow_run_on_task_fail',
] as const

export type ReservedKey = (typeof requestKeys)[number] | (typeof frameKeys)[number]

/** A value that exists in the design and not in this version. */
export interface Unavailable {
  readonly path: DataPath
  /** How the message names it: `"iterate"`, `mode = "code"`. */
  readonly shown: string
}

export interface ReservedEntry {
  /** `request` keys may be changed by a chain, `frame` keys are fixed at the start. */
  readonly kind: 'request' | 'frame'
  /** Only prompt files may set it. */
  readonly isPromptOnly: boolean
  /** Only the user's own config file may set it. */
  readonly isGuarded: boolean
  /** True, or what of a value is not available in this version; undefined when all of it is. */
  readonly available: boolean | ((value: Json) => Unavailable | undefined)
}

const unavailableKeys: ReadonlySet<string> = new Set<ReservedKey>([
  'agent',
  'template',
  'input',
  'output',
  'test',
  'mcp_servers',
  'plugins',
  'permission',
  'sandbox',
  'fallback_models',
  'reasoning_summary',
  'file_content_mode',
  'max_rounds',
  'max_turns',
  'timeout',
  'budget',
  'partial',
  'tools',
  'disallowed_tools',
  'iterate',
  'collab',
  'ensemble',
  'delegate',
  'workflow',
  'code',
  'agents',
  'retry',
  'timeouts',
])

const limited: ReadonlyMap<string, (value: Json) => Unavailable | undefined> = new Map<
  ReservedKey,
  (value: Json) => Unavailable | undefined
>([
  ['mode', onlyValue('mode', 'classic')],
  ['write_mode', onlyValue('write_mode', false)],
  ['instructions', onlyValue('instructions', false)],
  ['runs', (value) => (hasKey(value, 'keep') ? { path: ['runs', 'keep'], shown: '"runs.keep"' } : undefined)],
])

/** Every reserved top-level key (DESIGN 4). Schemas are in schema.ts, which is heavier to load. */
export const reserved: ReadonlyMap<string, ReservedEntry> = new Map(
  [...requestKeys, ...frameKeys].map((key) => [key, entryOf(key)]),
)

export function isReserved(key: string): key is ReservedKey {
  return reserved.has(key)
}

export function isRequestKey(key: string): boolean {
  return reserved.get(key)?.kind === 'request'
}

/** What of a reserved key's value this version cannot do. */
export function unavailableIn(key: ReservedKey, value: Json): Unavailable | undefined {
  const available = reserved.get(key)?.available ?? true
  if (typeof available === 'function') return available(value)
  return available ? undefined : { path: [key], shown: `"${key}"` }
}

function entryOf(key: ReservedKey): ReservedEntry {
  const isIn = (keys: readonly string[]): boolean => keys.includes(key)
  return {
    kind: isIn(requestKeys) ? 'request' : 'frame',
    isPromptOnly: isIn(promptKeys),
    isGuarded: isIn(guardedKeys),
    available: limited.get(key) ?? !unavailableKeys.has(key),
  }
}

function globForms<K extends string>(key: K): readonly [`${K}_pre`, K, `${K}_post`] {
  return [`${key}_pre`, key, `${key}_post`]
}

function onlyValue(key: string, only: Json): (value: Json) => Unavailable | undefined {
  return (value) => (value === only ? undefined : { path: [key], shown: `${key} = ${JSON.stringify(value)}` })
}

function hasKey(value: Json, key: string): value is { readonly [key: string]: Json } {
  return isObject(value) && Object.hasOwn(value, key)
}
