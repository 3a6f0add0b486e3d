import type { DataPath } from '../base/data-text.ts'
import type { Json } from '../base/json.ts'

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

const frame: ReservedEntry = { kind: 'frame', isPromptOnly: false, isGuarded: false, available: true }
/** A chain may change it (DESIGN 5 "What a chain may change"). */
const request: ReservedEntry = { ...frame, kind: 'request' }
/** Says what one prompt file is: it has no place in config files and flags. */
const promptOnly: ReservedEntry = { ...frame, isPromptOnly: true }
/** Files which come with a folder may not set it (DESIGN 3 "Trust"). */
const guarded: ReservedEntry = { ...frame, isGuarded: true }

const entries = {
  model: request,
  model_aliases: request,
  temperature: request,
  top_p: request,
  max_tokens: request,
  reasoning_effort: request,
  seed: request,
  input_concurrency: request,
  file_content_mode: request,
  max_files_size_kb: request,
  context_globs_pre: request,
  context_globs: request,
  context_globs_post: request,
  knowledge_globs_pre: request,
  knowledge_globs: request,
  knowledge_globs_post: request,
  structure_globs_pre: request,
  structure_globs: request,
  structure_globs_post: request,
  working_globs_pre: request,
  working_globs: request,
  working_globs_post: request,

  name: promptOnly,
  description: promptOnly,
  agent: promptOnly,
  params: promptOnly,
  template: promptOnly,
  input: promptOnly,
  output: promptOnly,
  sub_agents: promptOnly,
  test: promptOnly,

  providers: guarded,
  gateway: guarded,
  mcp_servers: notYet(guarded),
  plugins: notYet(guarded),
  permission: notYet(guarded),
  sandbox: notYet(guarded),

  base_dir: frame,
  write_mode: frame,
  partial: frame,
  fallback_models: frame,
  reasoning_summary: frame,
  retry: frame,
  timeouts: frame,
  budget: frame,
  lua: frame,
  secrets: frame,
  allow_run_on_task_fail: frame,
  mode: onlyValue('mode', 'classic'),
  instructions: onlyValue('instructions', false),
  runs: frame,
  timeout: notYet(frame),
  max_rounds: notYet(frame),
  max_turns: notYet(frame),
  tools: notYet(frame),
  disallowed_tools: notYet(frame),
  iterate: notYet(frame),
  collab: notYet(frame),
  ensemble: notYet(frame),
  delegate: notYet(frame),
  workflow: notYet(frame),
  code: notYet(frame),
  agents: notYet(frame),
} as const satisfies { readonly [key: string]: ReservedEntry }

export type ReservedKey = keyof typeof entries

/** Every reserved top-level key (DESIGN 4). Schemas are in schema.ts, which is heavier to load. */
export const reserved: ReadonlyMap<string, ReservedEntry> = new Map(Object.entries(entries))

export function isReserved(key: string): key is ReservedKey {
  return reserved.has(key)
}

export function isRequestKey(key: string): boolean {
  return reserved.get(key)?.kind === 'request'
}

/** What of a reserved key's value this version cannot do. */
export function unavailableIn(key: ReservedKey, value: Json): Unavailable | undefined {
  const { available }: ReservedEntry = entries[key]
  if (typeof available === 'function') return available(value)
  return available ? undefined : { path: [key], shown: `"${key}"` }
}

function notYet(entry: ReservedEntry): ReservedEntry {
  return { ...entry, available: false }
}

function onlyValue(key: string, only: Json): ReservedEntry {
  return {
    ...frame,
    available: (value) => (value === only ? undefined : { path: [key], shown: `${key} = ${JSON.stringify(value)}` }),
  }
}
