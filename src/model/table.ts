import { BatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'

/** The aliases that always exist. */
export const roles = ['normal', 'high', 'fast'] as const
export type Role = (typeof roles)[number]
export type RoleModels = Readonly<Record<Role, string>>

/** The built-in model names: agents/models.toml. */
export interface ModelTable {
  /** Aliases of models; those in the user's config take precedence. */
  readonly aliases: { readonly [alias: string]: string }
  /** The models of `normal`, `high` and `fast` by provider. `normal` is its default model. */
  readonly providers: { readonly [provider: string]: RoleModels }
  /** The prices that the package of prices lacks, by `provider::model`. */
  readonly prices: { readonly [label: string]: ListedPrice }
  /** The day on which these prices were compared with those that the providers publish, for example `2026-11-29`. */
  readonly pricesChecked: string
}

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
}

/** The price of a model at a provider's own address. */
export interface ListedPrice extends Rates {
  /** Tokens of the context window. */
  readonly window: number
  /** The rates of a whole request with more input tokens than `above`. */
  readonly long?: Rates & { readonly above: number }
  /** The rates from a day on, for example `2026-12-01`. */
  readonly later?: Rates & { readonly from: string }
  /** The rates in these hours of every day (UTC), for example `01:00-04:00`. */
  readonly peak?: Rates & { readonly hours: readonly string[] }
}

/**
 * Reads the table. Call it only when a model is chosen: runs that call no model never need it.
 * @throws BatonError FILE_UNREADABLE or CONFIG_INVALID if the installed file is damaged
 */
export async function loadModelTable(file: string): Promise<ModelTable> {
  const text = readSourceFile(file)
  const source = { file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' } as const
  const { data } = await parseToml(source)
  const aliases = texts(data['aliases'], file)
  const providers = Object.entries(table(data['providers'], file)).map(([provider, models]) => {
    return [provider, roleModels(texts(models, file), file)] as const
  })
  const { prices = {}, prices_checked: pricesChecked = '' } = data
  if (typeof pricesChecked !== 'string') throw damaged(file)
  const listed = Object.entries(table(prices, file)).map(([label, row]) => [label, listedPrice(row, file)] as const)
  return {
    aliases,
    providers: Object.fromEntries(providers),
    prices: Object.fromEntries(listed),
    pricesChecked,
  }
}

function listedPrice(row: Json, file: string): ListedPrice {
  const { window, long, later, peak, ...rates } = table(row, file)
  if (typeof window !== 'number') throw damaged(file)
  return {
    ...ratesOf(rates, file),
    window,
    ...(long !== undefined && { long: longRates(table(long, file), file) }),
    ...(later !== undefined && { later: laterRates(table(later, file), file) }),
    ...(peak !== undefined && { peak: peakRates(table(peak, file), file) }),
  }
}

function longRates({ above, ...rates }: JsonObject, file: string): NonNullable<ListedPrice['long']> {
  if (typeof above !== 'number') throw damaged(file)
  return { ...ratesOf(rates, file), above }
}

function laterRates({ from, ...rates }: JsonObject, file: string): NonNullable<ListedPrice['later']> {
  if (typeof from !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(from)) throw damaged(file)
  return { ...ratesOf(rates, file), from }
}

function peakRates({ hours, ...rates }: JsonObject, file: string): NonNullable<ListedPrice['peak']> {
  const spans = (Array.isArray(hours) ? (hours as readonly Json[]) : []).map((span) => {
    if (typeof span !== 'string' || !/^\d\d:\d\d-\d\d:\d\d$/.test(span)) throw damaged(file)
    return span
  })
  if (spans.length === 0) throw damaged(file)
  return { ...ratesOf(rates, file), hours: spans }
}

/** Cached and written input costs as much as other input unless it has a price. */
function ratesOf(
  { input, output, cached = input, cache_write: cacheWrite = input, ...others }: JsonObject,
  file: string,
): Rates {
  if (typeof input !== 'number' || typeof output !== 'number') throw damaged(file)
  if (typeof cached !== 'number' || typeof cacheWrite !== 'number') throw damaged(file)
  if (Object.keys(others).length > 0) throw damaged(file)
  return { input, cached, cacheWrite, output }
}

function roleModels({ normal, high, fast }: Readonly<Record<string, string>>, file: string): RoleModels {
  if (normal === undefined || high === undefined || fast === undefined) throw damaged(file)
  return { normal, high, fast }
}

function texts(value: Json | undefined, file: string): Readonly<Record<string, string>> {
  const entries = Object.entries(table(value, file)).map(([key, text]) => {
    if (typeof text !== 'string') throw damaged(file)
    return [key, text] as const
  })
  return Object.fromEntries(entries)
}

function table(value: Json | undefined, file: string): JsonObject {
  if (!isJsonObject(value)) throw damaged(file)
  return value
}

function damaged(file: string): BatonError {
  return new BatonError('CONFIG_INVALID', `${file} is not a valid model table`, {
    place: { file },
    hint: 'Reinstall Baton, or undo the change; define your own names in model_aliases of your config file.',
  })
}
