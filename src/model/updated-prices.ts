import { readFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { orderVersions, parseVersion } from '../base/semver.ts'
import {
  bundledPrices,
  type ConditionalPrice,
  type MatchLogic,
  type ModelInfo,
  type ModelPrice,
  type PriceProvider,
} from './price-package.ts'

/** A newer table of the package of prices. */
export interface UpdatedPrices {
  readonly version: string
  /** The day on which the version was published, for example `2026-12-01`, if known. */
  readonly published: string | undefined
  readonly providers: readonly PriceProvider[]
}

/**
 * The table that `baton models update` has written; undefined if there is none, if the package that comes with Baton is
 * at least as new, or if the file is damaged, because prices must not keep anything from running.
 */
export function readUpdatedPrices(file: string): UpdatedPrices | undefined {
  let data: Json
  try {
    data = JSON.parse(readFileSync(file, 'utf8')) as Json
  } catch {
    return undefined
  }
  if (!isJsonObject(data)) return undefined
  const { version, published, providers } = data
  const table = tableOfPrices(providers ?? null)
  if (typeof version !== 'string' || table === undefined || !isNewer(version, bundledPrices.version)) return undefined
  return { version, published: typeof published === 'string' ? published : undefined, providers: table }
}

/** The content of that file. */
export function updatedPricesText({ version, published, providers }: UpdatedPrices): string {
  return `${JSON.stringify({ package: bundledPrices.name, version, published, providers })}\n`
}

export function isNewer(version: string, than: string): boolean {
  const [one, other] = [parseVersion(version), parseVersion(than)]
  return one !== undefined && other !== undefined && orderVersions(one, other) > 0
}

/** Vendors without which a table is not one of prices. */
const expected = ['anthropic', 'google', 'openai']

/** The data of the package, reduced to what prices are found by; undefined if it has another form. */
export function tableOfPrices(data: Json): readonly PriceProvider[] | undefined {
  if (!Array.isArray(data)) return undefined
  const providers = (data as readonly Json[]).map(providerOf)
  const known = providers.filter((provider) => provider !== undefined)
  const isWhole = expected.every((name) => known.some(({ id, models }) => id === name && models.length > 0))
  return known.length === providers.length && isWhole ? known : undefined
}

function providerOf(data: Json): PriceProvider | undefined {
  if (!isJsonObject(data)) return undefined
  const { id, name = id, api_pattern: pattern, models: listed } = data
  if (typeof id !== 'string' || typeof name !== 'string' || typeof pattern !== 'string' || !isPattern(pattern)) {
    return undefined
  }
  const models = Array.isArray(listed) ? (listed as readonly Json[]).map(modelOf) : [undefined]
  const known = models.filter((model) => model !== undefined)
  return known.length === models.length ? { id, name, api_pattern: pattern, models: known } : undefined
}

function modelOf(data: Json): ModelInfo | undefined {
  if (!isJsonObject(data)) return undefined
  const { id, match, prices, context_window: window, deprecated } = data
  if (typeof id !== 'string' || !isMatch(match) || !isPrices(prices)) return undefined
  return {
    id,
    match,
    prices,
    ...(typeof window === 'number' && window > 0 && { context_window: window }),
    ...(deprecated === true && { deprecated }),
  }
}

function isPrices(data: Json | undefined): data is (ConditionalPrice[] | ModelPrice) & Json {
  if (!Array.isArray(data)) return isModelPrice(data)
  const rows = data as readonly Json[]
  return rows.length > 0 && rows.every((row) => isJsonObject(row) && isModelPrice(row['prices']))
}

function isModelPrice(data: Json | undefined): data is JsonObject {
  return isJsonObject(data) && Object.values(data).every((price) => isDollars(price) || isTiered(price))
}

function isTiered(data: Json): boolean {
  if (!isJsonObject(data)) return false
  const { base, tiers } = data
  const rows = Array.isArray(tiers) ? (tiers as readonly Json[]) : [null]
  return isDollars(base) && rows.every((row) => isJsonObject(row) && isDollars(row['price']) && isDollars(row['start']))
}

function isDollars(data: Json | undefined): boolean {
  return typeof data === 'number' && Number.isFinite(data) && data >= 0
}

/** How a model is recognized by its name. */
function isMatch(data: Json | undefined): data is MatchLogic & JsonObject {
  if (!isJsonObject(data)) return false
  const entries = Object.entries(data)
  return (
    entries.length === 1 &&
    entries.every(([kind, value]) => {
      if (kind === 'and' || kind === 'or') return Array.isArray(value) && (value as readonly Json[]).every(isMatch)
      if (typeof value !== 'string') return false
      return kind === 'regex' ? isPattern(value) : ['contains', 'starts_with', 'ends_with', 'equals'].includes(kind)
    })
  )
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source !== ''
  } catch {
    return false
  }
}
