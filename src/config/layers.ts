import type { DataPath, DataText } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { withPlace, type Finding, type Issue } from './issue.ts'

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
}

/** A value in force and the layer it comes from. */
export interface SourcedValue {
  readonly path: DataPath
  readonly value: Json
  readonly layer: Layer
}

export interface MergedLayers {
  readonly values: JsonObject
  /** One per key, for tables that merge one per key inside; in the order in which they were first set. */
  readonly origins: readonly SourcedValue[]
}

const mergedTables: ReadonlySet<string> = new Set([
  'model_aliases',
  'providers',
  'lua',
  'runs',
  'retry',
  'timeouts',
  'budget',
])

/** Joins layers, later ones win. Most values replace, also lists; some tables merge key by key (DESIGN 3). */
export function mergeLayers(layers: readonly Layer[]): MergedLayers {
  const origins = new Map<string, SourcedValue>()
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer.values)) {
      if (!mergedTables.has(key) || !isJsonObject(value)) origins.set(key, { path: [key], value, layer })
      else
        for (const [inner, part] of Object.entries(value))
          origins.set(JSON.stringify([key, inner]), { path: [key, inner], value: part, layer })
    }
  }
  const sourced = [...origins.values()]
  return { values: joined(sourced), origins: sourced }
}

function joined(sourced: readonly SourcedValue[]): JsonObject {
  const values: { [key: string]: Json } = {}
  for (const { path, value } of sourced) {
    const [key, inner] = path
    const table = values[String(key)]
    values[String(key)] = inner === undefined ? value : { ...(isJsonObject(table) ? table : {}), [inner]: value }
  }
  return values
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
      return withPlace(finding, source === undefined ? undefined : await placeIn(source.layer, finding))
    }),
  )
}

async function placeIn({ origin, locate, text }: Layer, { path, part }: Finding): Promise<SourcePlace> {
  return { file: originText(origin), ...(text === undefined ? {} : { text }), ...(await locate?.(path, part)) }
}
