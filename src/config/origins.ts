import { pathText } from '../base/data-text.ts'
import type { Json } from '../base/json.ts'
import { originText, type SourcedValue } from './layers.ts'

export interface OriginRow {
  readonly key: string
  readonly value: Json
  /** `baton.toml:3`, `BATON_MODEL`, `-c model`, `default`. */
  readonly origin: string
}

/** What `baton config --origin` prints: every value in force and where it comes from, sorted by key. */
export async function describeOrigins({
  origins,
}: {
  readonly origins: readonly SourcedValue[]
}): Promise<readonly OriginRow[]> {
  const rows = await Promise.all(origins.map(describe))
  return rows.toSorted((left, right) => (left.key < right.key ? -1 : 1))
}

async function describe({ path, value, layer }: SourcedValue): Promise<OriginRow> {
  const position = await layer.locate?.(path)
  const source = originText(layer.origin)
  return {
    key: pathText(path),
    value: withoutQueries(value),
    origin: position === undefined ? source : `${source}:${position.line}`,
  }
}

/** Addresses may carry a key in their query or user part, so only host and path are shown. */
export function withoutQueries(value: Json): Json {
  if (typeof value === 'string') return /^[a-z]+:\/\//i.test(value) ? bareAddress(value) : value
  if (Array.isArray(value)) return (value as readonly Json[]).map(withoutQueries)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutQueries(inner as Json)]))
}

function bareAddress(value: string): string {
  if (!URL.canParse(value)) return '(not an address)'
  const { protocol, host, pathname } = new URL(value)
  return `${protocol}//${host}${pathname}`
}
