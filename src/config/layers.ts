import { isDeepStrictEqual } from 'node:util'
import { type DataPath, type DataText, pathText } from '../base/data-text.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, type Issue, withPlace } from '../settings/issue.ts'
import { orderOf, reserved } from '../settings/keys.ts'
import type { PermissionRule } from './permission-rules.ts'

export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: 'user' | 'workspace' | 'front matter'; readonly file: string }
  | { readonly kind: 'environment' | 'flag'; readonly name: string }

/** Settings of one source; values are checked. */
export interface Layer {
  readonly origin: Origin
  readonly values: JsonObject
  /** Where a value is written, for sources that are files. */
  readonly locate?: DataText['locate']
  /** The whole file, for code frames. */
  readonly text?: string
  /** The folder's config file of AIPack. */
  readonly isAipack?: true
  /** The source belongs to the user or was trusted. */
  readonly isTrusted?: boolean
  /** The rules of its `[permission]`, which is also part of `values`. */
  readonly rules?: readonly PermissionRule[]
}

/** A value in force and the layer it comes from. */
export interface SourcedValue {
  readonly path: DataPath
  readonly value: Json
  readonly layer: Layer
  /** The user's value, if a folder has tightened it, or if the folder's config file of AIPack has replaced it. */
  readonly under?: SourcedValue
}

export interface MergedLayers {
  readonly values: JsonObject
  /** One per key, and per inner key for merged tables; in the order in which they were first set. */
  readonly origins: readonly SourcedValue[]
}

/**
 * Merges layers; later ones take precedence. Most values replace earlier ones, including lists; some tables merge key
 * by key, and some lists are only appended to. The `permission` rules of all layers become one list.
 */
export function mergeLayers(layers: readonly Layer[]): MergedLayers {
  const origins = originsOf(layers)
  const values = new Map<string, Json | Map<string, Json>>()
  for (const { path, value } of origins) {
    const [key = '', inner] = path.map(String)
    const table = values.get(key)
    if (inner === undefined) values.set(key, value)
    else if (table instanceof Map) table.set(inner, value)
    else values.set(key, new Map([[inner, value]]))
  }
  const entries = [...values].map(([key, value]) => [key, value instanceof Map ? Object.fromEntries(value) : value])
  return { values: Object.fromEntries(entries) as JsonObject, origins }
}

/** The same, but only the values with their layers. */
export function originsOf(layers: readonly Layer[]): readonly SourcedValue[] {
  const origins = new Map<string, SourcedValue>()
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer.values)) {
      if (key === 'permission')
        origins.set(key, { path: [key], value: joinedRules(origins.get(key)?.value, layer), layer })
      else if (reserved.get(key)?.isMerged !== true || !isJsonObject(value))
        origins.set(key, joined(origins.get(key), { path: [key], value, layer }))
      else
        for (const [inner, part] of Object.entries(value)) {
          const name = JSON.stringify([key, inner])
          origins.set(name, joined(origins.get(name), { path: [key, inner], value: part, layer }))
        }
    }
  }
  return [...origins.values()]
}

/** The last matching rule counts, so those of `layer` come last. */
function joinedRules(before: Json = [], { rules = [] }: Layer): Json {
  return [...(before as readonly Json[]), ...(rules as unknown as readonly Json[])]
}

/** The value in force when `next` is layered over `before`. */
function joined(before: SourcedValue | undefined, next: SourcedValue): SourcedValue {
  if (before === undefined) return next
  const { path, value, layer } = next
  const [key = '', inner] = path.map(String)
  const rule = orderOf(key, inner)?.rule
  const isAdded = rule === 'added' || reserved.get(key)?.isAppended === true
  const list = isAdded ? added(before.value, value) : withOthers(before.value, value, layer)
  const own = before.layer.origin.kind === 'user' ? before : before.under
  const isFolder = layer.origin.kind === 'workspace' || layer.origin.kind === 'front matter'
  const isLimited = layer.isAipack === true || (rule !== 'free' && rule !== undefined)
  return isFolder && own !== undefined && isLimited && !isDeepStrictEqual(list, own.value)
    ? { ...next, value: list, under: own }
    : { ...next, value: list }
}

/** `-c` changes the keys that it names, also in a table inside of a table. */
function withOthers(before: Json, next: Json, { origin }: Layer): Json {
  return origin.kind === 'flag' && isJsonObject(before) && isJsonObject(next) ? { ...before, ...next } : next
}

function added(before: Json, next: Json): Json {
  if (!Array.isArray(before) || !Array.isArray(next)) return next
  return [...new Set([...(before as readonly Json[]), ...(next as readonly Json[])])]
}

/** `baton.toml`, `BATON_MODEL`, `-c model`, `default`. */
export function originText(origin: Origin): string {
  if (origin.kind === 'default') return 'default'
  return 'file' in origin ? origin.file : origin.name
}

/** Findings about merged values, each placed in the source that set its value. */
export async function placeOrigins(
  findings: readonly Finding[],
  origins: readonly SourcedValue[],
): Promise<readonly Issue[]> {
  return Promise.all(
    findings.map(async (finding) => {
      const source = origins.find(({ path }) => path.every((step, index) => step === finding.path[index]))
      if (source === undefined) return withPlace(finding, undefined)
      const { origin, locate, text } = source.layer
      const position = await locate?.(finding.path, finding.part)
      return withPlace(finding, { file: originText(origin), ...defined({ text }), ...position })
    }),
  )
}

export interface OriginRow {
  readonly key: string
  readonly value: Json
  /**
   * `baton.toml:3`, `BATON_MODEL`, `-c model`, `default`; `baton.toml:3, over 5 of config.toml:1` if a folder tightens.
   */
  readonly origin: string
}

/**
 * What `baton config --origin` prints: every value in force and its origin, sorted by key. Rules of `permission` are
 * omitted, because their order matters.
 */
export async function describeOrigins({ origins }: Pick<MergedLayers, 'origins'>): Promise<readonly OriginRow[]> {
  const { shownServer } = await import('./shown-server.ts')
  const shown = ({ path: [key], value }: SourcedValue): Json =>
    withoutQueries(key === 'mcp_servers' ? shownServer(value) : value)
  const rows = await Promise.all(
    withoutRules(origins).map(async ({ under, ...set }) => {
      const source = await sourceText(set)
      const held = under === undefined ? '' : `, over ${JSON.stringify(shown(under))} of ${await sourceText(under)}`
      return { key: pathText(set.path), value: shown(set), origin: `${source}${held}` }
    }),
  )
  return rows.toSorted((left, right) => (left.key < right.key ? -1 : 1))
}

function withoutRules(origins: readonly SourcedValue[]): readonly SourcedValue[] {
  return origins.filter(({ path: [key] }) => key !== 'permission')
}

async function sourceText({ path, layer }: SourcedValue): Promise<string> {
  const position = await layer.locate?.(path)
  const source = originText(layer.origin)
  return position === undefined ? source : `${source}:${position.line}`
}

/** Addresses may contain a key in their query or user part, so only host and path are shown. */
export function withoutQueries(value: Json): Json {
  if (typeof value === 'string') return /^[a-z]+:\/\//i.test(value) ? bareAddress(value) : value
  if (Array.isArray(value)) return (value as readonly Json[]).map(withoutQueries)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutQueries(inner as Json)]))
}

function bareAddress(value: string): string {
  if (!URL.canParse(value)) return '(not a URL)'
  const { protocol, host, pathname } = new URL(value)
  return `${protocol}//${host}${pathname}`
}
