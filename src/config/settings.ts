import { join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import type { JsonObject } from '../base/json.ts'
import { parseSize } from '../base/size.ts'
import { type Collab, isCollab, readCollab } from '../settings/collab.ts'
import { parseDuration } from '../base/duration.ts'
import { type Defaults, defaults, plainKeys, type SettingValues } from '../settings/keys.ts'
import type { Layer } from './layers.ts'
import type { PermissionRule } from './permission-rules.ts'
import { readStrategies, type StrategyTables } from '../settings/strategies.ts'

/** Values, including all that have a default. */
type Filled<Values, Initial> = Values & {
  readonly [Key in keyof Initial & keyof Values]-?: NonNullable<Values[Key]> &
    (Initial[Key] extends { readonly [key: string]: unknown }
      ? Filled<NonNullable<Values[Key]>, Initial[Key]>
      : unknown)
}

/** What merged layers contain; the lowest of them is `defaultLayer`. */
type Values = Filled<SettingValues, Defaults>

type PlainKey = (typeof plainKeys)[number]

/** The settings in force for one agent, with defaults. Keys that also exist in files keep their names. */
export interface Settings extends Pick<Values, Exclude<PlainKey, 'reasoning_effort' | 'permission'>>, StrategyTables {
  /** Includes the suffix of a model name. */
  readonly reasoning_effort?: string
  /** Rules of all layers, weakest first, without the default rules. */
  readonly permission?: readonly PermissionRule[]
  readonly model_aliases: Readonly<Record<string, string>>
  /** Whether the instruction is a Handlebars template; by default if the file has `[input]`. */
  readonly template: boolean
  /** Requirements for the answer: a JSON Schema, or the name of its file. */
  readonly output?: { readonly schema?: string | JsonObject }
  /** Absolute, links resolved. Written paths are relative to the workspace. */
  readonly base_dir: string
  /** The `_pre`, plain and `_post` forms, concatenated in this order. */
  readonly globs: {
    readonly context: readonly string[]
    readonly knowledge: readonly string[]
    readonly structure: readonly string[]
    /** A string makes a group of each matching file, a list is one group. */
    readonly working: readonly (string | readonly string[])[]
  }
  readonly lua: Omit<Values['lua'], 'timeout'> & { readonly timeout_ms: number }
  /** Waits for overloaded hosts end after `patience_ms`; undefined: the default of the caller. */
  readonly retry: Omit<Values['retry'], 'patience'> & { readonly patience_ms?: number }
  readonly timeouts: {
    readonly connect_ms: number
    readonly headers_ms: number
    readonly stream_idle_ms: number
    /** Undefined: no limit. */
    readonly request_ms?: number
    /** For an agent without its own timeout; undefined: no limit. */
    readonly agent_ms?: number
    /** For a question to a person; undefined: no limit. */
    readonly approval_ms?: number
    /** For the answers of a batch; undefined: the default limit. */
    readonly batch_ms?: number
    /** For the command of `gate`; undefined: the default limit. */
    readonly gate_ms?: number
  }
  readonly providers: NonNullable<Values['providers']>
  /** US dollars per million tokens, by model name or glob. */
  readonly prices: NonNullable<Values['prices']>
  readonly secrets: readonly string[]
  /** The size limit for the changes of one answer is in bytes. */
  readonly changes: Omit<Values['changes'], 'max_size'> & { readonly max_bytes: number }
  /** `dir` is absolute; runs are kept for `keep_ms` (undefined: forever); each takes at most `max_bytes`. */
  readonly runs: { readonly dir?: string; readonly keep_ms?: number; readonly max_bytes: number }
  /** For the whole run; undefined: no limit. */
  readonly timeout_ms?: number
  /** The table of the front matter that is named like its mode. */
  readonly mode_options?: JsonObject
  /** The model may start agents; undefined: it gets no tools for that. */
  readonly collab?: Collab
  /** What programs chosen by a model may access. */
  readonly sandbox: SandboxSettings
}

/** `[sandbox]`. */
export interface SandboxSettings extends Omit<Values['sandbox'], 'mode'> {
  /** Undefined: derived from `write_mode`, see `sandboxMode`. */
  readonly mode?: NonNullable<Values['sandbox']['mode']>
}

/** By default, programs of models may write if their answers may. */
export function sandboxMode({
  sandbox,
  write_mode: writes,
}: Pick<Settings, 'sandbox' | 'write_mode'>): NonNullable<SandboxSettings['mode']> {
  return sandbox.mode ?? (writes === false ? 'read-only' : 'workspace-write')
}

/** The lowest layer. */
export const defaultLayer: Layer = { origin: { kind: 'default' }, values: defaults }

/**
 * Settings from merged, checked layers, the lowest of which is `defaultLayer`.
 */
export function settingsOf(merged: JsonObject, { workspace }: { readonly workspace: string }): Settings {
  // every layer was checked by schema.ts, or contains only text by construction (flags and environment)
  const values = merged as unknown as Values
  const { max_size, ...changes } = values.changes
  const { output, runs } = values
  const { collab } = merged
  const { patience, ...retry } = values.retry
  const { connect, headers, stream_idle, request, agent, approval, batch, gate } = values.timeouts
  const { engine, isolated, timeout, memory_mb, instructions } = values.lua
  const present = plainKeys.filter((key) => Object.hasOwn(values, key))
  return {
    ...(Object.fromEntries(present.map((key) => [key, values[key]])) as Pick<Values, Exclude<PlainKey, 'permission'>>),
    ...(output === undefined ? {} : { output: output as NonNullable<Settings['output']> }),
    template: values.template ?? merged['input'] !== undefined,
    retry: { ...retry, ...(patience === undefined ? {} : { patience_ms: durationMs(patience) }) },
    timeouts: {
      connect_ms: durationMs(connect),
      headers_ms: durationMs(headers),
      stream_idle_ms: durationMs(stream_idle),
      ...(request === undefined ? {} : { request_ms: durationMs(request) }),
      ...(agent === undefined ? {} : { agent_ms: durationMs(agent) }),
      ...(approval === undefined ? {} : { approval_ms: durationMs(approval) }),
      ...(batch === undefined ? {} : { batch_ms: durationMs(batch) }),
      ...(gate === undefined ? {} : { gate_ms: durationMs(gate) }),
    },
    model_aliases: values.model_aliases ?? {},
    base_dir: realPath(join(workspace, values.base_dir)),
    globs: {
      context: globsOf(values, 'context_globs'),
      knowledge: globsOf(values, 'knowledge_globs'),
      structure: globsOf(values, 'structure_globs'),
      working: globsOf(values, 'working_globs'),
    },
    lua: { engine, isolated, timeout_ms: durationMs(timeout), memory_mb, instructions },
    providers: values.providers ?? {},
    prices: values.prices ?? {},
    secrets: values.secrets ?? [],
    runs: {
      ...(runs.dir === undefined ? {} : { dir: resolve(workspace, runs.dir) }),
      ...(runs.keep === undefined ? {} : { keep_ms: durationMs(runs.keep) }),
      max_bytes: parseSize(runs.max_size) ?? 0,
    },
    ...(values.timeout === undefined ? {} : { timeout_ms: durationMs(values.timeout) }),
    changes: { ...changes, max_bytes: parseSize(max_size) ?? 0 },
    sandbox: values.sandbox,
    ...(isCollab(collab) ? { collab: readCollab(collab) } : {}),
    ...readStrategies(merged),
  }
}

type GlobKey = 'context_globs' | 'knowledge_globs' | 'structure_globs' | 'working_globs'

function globsOf<Key extends GlobKey>(values: Values, key: Key): NonNullable<Values[Key]> {
  const lists = [values[`${key}_pre`], values[key], values[`${key}_post`]]
  return lists.flatMap((list) => list ?? []) as unknown as NonNullable<Values[Key]>
}

/** For text that has been checked. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0
}
