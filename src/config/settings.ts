import { join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import type { JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import type { Layer } from './layers.ts'
import type { SettingValues } from './schema.ts'

interface ProviderSettings {
  readonly base_url: string
  readonly api_key_env?: string
  readonly default_model?: string
}

interface Globs {
  readonly context: readonly string[]
  readonly knowledge: readonly string[]
  readonly structure: readonly string[]
  /** A string makes a group of each file it matches, a list is one group. */
  readonly working: readonly (string | readonly string[])[]
}

/** What is in force for one agent, with defaults. Keys that mirror the file's keep their names (D3). */
export interface Settings {
  readonly model?: string
  readonly model_aliases: Readonly<Record<string, string>>
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly seed?: number
  readonly reasoning_summary?: string
  /** Models that are asked in this order when `model` has failed for good. */
  readonly fallback_models: readonly string[]
  readonly input_concurrency: number
  /** Whether the answer's file changes are carried out. */
  readonly write_mode: boolean
  readonly file_content_mode: 'udiffx' | 'whole' | 'search_replace_auto'
  /** Whether a change set is carried out as far as it goes; else all of it or nothing. */
  readonly partial: boolean
  /** Whether the instruction is a Handlebars template; a file with `[input]` has one when it does not say. */
  readonly template: boolean
  /** Answers in place of the built-in main agent. */
  readonly agent?: string
  /** What the answer must be: a JSON Schema, or the name of its file. */
  readonly output?: { readonly schema?: string | JsonObject }
  /** Absolute, links resolved. Written paths are relative to the workspace. */
  readonly base_dir: string
  /** The `_pre`, plain and `_post` forms joined in this order. */
  readonly globs: Globs
  readonly max_files_size_kb: number
  readonly allow_run_on_task_fail: boolean
  readonly lua: {
    readonly engine: 'lua54' | 'fengari'
    /** Scripts run in threads of their own, which can be ended at any moment. */
    /** `installed`: only those of packs that came from an archive, git or a URL. */
    readonly isolated: boolean | 'installed'
    readonly timeout_ms: number
    readonly memory_mb: number
    readonly instructions: number
  }
  /** Figures of R289 to R293; waits for overloaded hosts end when `patience_ms` is used up. */
  readonly retry: {
    readonly max_attempts: number
    readonly initial_backoff_ms: number
    readonly max_backoff_ms: number
    readonly backoff_multiplier: number
    readonly jitter_factor: number
    /** Left out: what the caller says. */
    readonly patience_ms?: number
  }
  readonly timeouts: {
    readonly connect_ms: number
    readonly headers_ms: number
    readonly stream_idle_ms: number
    /** Left out: no limit. */
    readonly request_ms?: number
  }
  readonly budget: {
    readonly usd?: number
    readonly tokens?: number
    readonly calls?: number
    /** What a limit in `usd` says to a model without a known price. */
    readonly unpriced: 'deny' | 'allow'
  }
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly gateway?: { readonly base_url: string; readonly api_key_env?: string }
  /** Names of environment variables whose values are masked. */
  readonly secrets: readonly string[]
  /** `dir` is absolute; runs are kept for `keep_ms`, for ever when it is left out. */
  readonly runs: { readonly dir?: string; readonly keep_ms?: number }
}

/** The lowest layer. */
export const defaultLayer: Layer = {
  origin: { kind: 'default' },
  values: {
    input_concurrency: 2,
    base_dir: '',
    max_files_size_kb: 1500,
    allow_run_on_task_fail: false,
    write_mode: false,
    file_content_mode: 'udiffx',
    partial: false,
    fallback_models: [],
    retry: {
      max_attempts: 3,
      initial_backoff_ms: 100,
      max_backoff_ms: 10_000,
      backoff_multiplier: 2,
      jitter_factor: 0.5,
    },
    timeouts: { connect: '10s', headers: '30s', stream_idle: '5m' },
    budget: { unpriced: 'deny' },
    lua: { engine: 'lua54', isolated: 'installed', timeout: '60s', memory_mb: 256, instructions: 1e12 },
  },
}

/** Settings from merged layers, of which `defaultLayer` is the lowest and all are checked. */
export function settingsOf(merged: JsonObject, { workspace }: { readonly workspace: string }): Settings {
  // every layer went through schema.ts, or holds only text by construction (flags and environment)
  const values = merged as SettingValues
  return {
    ...pick(values, ['model', 'temperature', 'top_p', 'max_tokens', 'reasoning_effort', 'reasoning_summary', 'seed']),
    ...pick(values, ['gateway', 'agent']),
    ...(merged['output'] === undefined ? {} : { output: merged['output'] as NonNullable<Settings['output']> }),
    fallback_models: values.fallback_models ?? [],
    write_mode: values.write_mode ?? false,
    file_content_mode: values.file_content_mode ?? 'udiffx',
    partial: values.partial ?? false,
    template: values.template ?? merged['input'] !== undefined,
    retry: retryOf(values),
    timeouts: timeoutsOf(values),
    budget: { ...values.budget, unpriced: values.budget?.unpriced ?? 'deny' },
    model_aliases: values.model_aliases ?? {},
    input_concurrency: values.input_concurrency ?? 1,
    base_dir: realPath(join(workspace, values.base_dir ?? '')),
    globs: globsOf(values),
    max_files_size_kb: values.max_files_size_kb ?? 0,
    allow_run_on_task_fail: values.allow_run_on_task_fail ?? false,
    lua: luaOf(values),
    providers: values.providers ?? {},
    secrets: values.secrets ?? [],
    runs: runsOf(values, workspace),
  }
}

function globsOf(values: SettingValues): Globs {
  return {
    context: joined(values.context_globs_pre, values.context_globs, values.context_globs_post),
    knowledge: joined(values.knowledge_globs_pre, values.knowledge_globs, values.knowledge_globs_post),
    structure: joined(values.structure_globs_pre, values.structure_globs, values.structure_globs_post),
    working: joined(values.working_globs_pre, values.working_globs, values.working_globs_post),
  }
}

function joined<T>(...lists: readonly (readonly T[] | undefined)[]): readonly T[] {
  return lists.flatMap((list) => list ?? [])
}

function luaOf({ lua = {} }: SettingValues): Settings['lua'] {
  const { engine = 'lua54', isolated = 'installed', timeout = '', memory_mb = 0, instructions = 0 } = lua
  return { engine, isolated, timeout_ms: parseDuration(timeout) ?? 0, memory_mb, instructions }
}

function retryOf({ retry = {} }: SettingValues): Settings['retry'] {
  const { max_attempts = 1, initial_backoff_ms = 0, max_backoff_ms = 0 } = retry
  const { backoff_multiplier = 1, jitter_factor = 0, patience = '' } = retry
  const patience_ms = parseDuration(patience)
  return {
    max_attempts,
    initial_backoff_ms,
    max_backoff_ms,
    backoff_multiplier,
    jitter_factor,
    ...(patience_ms === undefined ? {} : { patience_ms }),
  }
}

function timeoutsOf({ timeouts = {} }: SettingValues): Settings['timeouts'] {
  const { connect = '', headers = '', stream_idle = '', request = '' } = timeouts
  const request_ms = parseDuration(request)
  return {
    connect_ms: parseDuration(connect) ?? 0,
    headers_ms: parseDuration(headers) ?? 0,
    stream_idle_ms: parseDuration(stream_idle) ?? 0,
    ...(request_ms === undefined ? {} : { request_ms }),
  }
}

function runsOf({ runs = {} }: SettingValues, workspace: string): Settings['runs'] {
  const { dir, keep = '' } = runs
  const keep_ms = parseDuration(keep)
  return {
    ...(dir === undefined ? {} : { dir: resolve(workspace, dir) }),
    ...(keep_ms === undefined ? {} : { keep_ms }),
  }
}

function pick<T extends object, K extends keyof T>(values: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(values, key)).map((key) => [key, values[key]])) as Pick<
    T,
    K
  >
}
