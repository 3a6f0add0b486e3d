import { join } from 'node:path'
import { pricedModel } from '../../agent/models.ts'
import { isBatonError } from '../../base/error.ts'
import { nearest } from '../../base/suggest.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { userPricesFile } from '../../config/locate.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { builtInProviders, gatewayUrlEnv } from '../../model/builtin.ts'
import { gatewayTarget, type ModelChoice, type ModelSources, readVariable } from '../../model/choice.ts'
import type { OwnPrices } from '../../model/own-price.ts'
import { loadPrices, type PriceList, type ShownRates } from '../../model/prices.ts'
import { selectModel } from '../../model/select.ts'
import { loadModelTable, type ModelTable, roles } from '../../model/table.ts'
import { packageRoot } from '../../package-root.ts'
import { countOf } from '../../render/format.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, jsonLine, openWorkplace } from '../io.ts'

/**
 * `baton models [WORD]`: the models that have a short name here, with prices, context windows and keys; with a word all
 * known models that contain it. Nothing is called. Exit code 2 if there is none. `baton models update` takes newer
 * prices.
 */
export async function modelsCommand(flags: Flags<'models'>, io: CommandIo): Promise<number> {
  if (flags.word === 'update') return (await import('./models-update.ts')).updatePrices(flags, io)
  const { cwd, env, home, paint, note } = openWorkplace(flags, io)
  const { settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides: flags.config } })
  const { providers, gateway, model_aliases: aliases, prices: ownPrices } = settings
  const tableFile = join(packageRoot(), 'agents', 'models.toml')
  const [table, prices] = await Promise.all([
    loadModelTable(tableFile),
    loadPrices({ tableFile, updatedFile: userPricesFile({ env, home }) }),
  ])
  // a gateway takes every name; the list says what the names mean without it
  const sources = { env: { ...env, [gatewayUrlEnv]: undefined }, providers, aliases }
  const all = knownModels({ sources, table, prices, ownPrices }, { isWide: flags.word !== undefined })
  const rows = flags.word === undefined ? all : all.filter((row) => isAbout(row, flags.word ?? ''))
  if (rows.length === 0) throw noneFound(flags.word ?? '', all)

  if (flags.names) {
    for (const name of new Set(rows.flatMap(({ names, label }) => [...names, label]))) io.out(`${name}\n`)
  } else if (flags.json) {
    for (const record of [{ kind: 'prices', ...prices.source }, ...rows.map(recordOf)]) io.out(jsonLine(record))
  } else {
    const { checked, package: packageName, version, updated } = prices.source
    if (gatewayTarget({ env, providers, gateway, aliases }) !== undefined)
      note(`the gateway gets every name unchanged\n`)
    const [head = '', ...lines] = columns([headings, ...rows.map(cellsOf)])
    io.out([paint('dim', head), ...lines, ''].join('\n'))
    note(`${countOf(rows.length, 'model')}; US dollars per million tokens, of short requests\n`)
    note(`prices checked on ${checked}, others of ${packageName} ${version}${updated ? ' (updated)' : ''}\n`)
  }
  return 0
}

/** A model, and everything that is said of it. */
interface KnownModel {
  /** For example `openai::gpt-6.2-sol`. */
  readonly label: string
  readonly choice: ModelChoice
  /** Its short names. */
  readonly names: readonly string[]
  readonly rates: ShownRates | undefined
  /** Tokens of its context window. */
  readonly window: number | undefined
  readonly key: { readonly name: string; readonly isSet: boolean } | undefined
}

interface Known {
  readonly sources: ModelSources
  readonly table: ModelTable
  readonly prices: PriceList
  readonly ownPrices: OwnPrices
}

/** `isWide`: with all models that have a price, not only those that the user's config or the table names. */
function knownModels(
  { sources, table, prices, ownPrices }: Known,
  { isWide }: { readonly isWide: boolean },
): readonly KnownModel[] {
  const short = [...roles, ...Object.keys(sources.aliases), ...Object.keys(table.aliases)]
  const named = new Set([
    ...short,
    ...Object.keys(sources.providers).map((provider) => `${provider}::`),
    ...Object.entries(table.providers).flatMap(([name, models]) => Object.values(models).map((id) => `${name}::${id}`)),
    ...Object.keys(table.prices),
    ...Object.keys(ownPrices).filter((name) => name.includes('::') && !name.includes('*')),
  ])
  const written = [
    ...named,
    ...(isWide
      ? Object.keys(builtInProviders).flatMap((name) => prices.modelsOf(name).map((id) => `${name}::${id}`))
      : []),
  ]
  const found = new Map<
    string,
    { readonly choice: ModelChoice; readonly isNamed: boolean; readonly names: Set<string> }
  >()
  for (const name of new Set(written)) {
    const choice = choiceOf(name, sources, table)
    if (choice === undefined) continue
    const { names, isNamed } = found.get(choice.label) ?? { names: new Set(), isNamed: named.has(name) }
    if (short.includes(name)) names.add(name)
    found.set(choice.label, { choice, names, isNamed })
  }
  const models = [...found].flatMap(([label, { choice, names, isNamed }]): readonly KnownModel[] => {
    const model = pricedModel(choice, ownPrices)
    const rates = prices.rates(model)
    // a host may serve a model of the package by a name that cannot be written here
    if (rates === undefined && !isNamed) return []
    const [window, key] = [prices.windowOf(model), keyOf(choice, sources.env)]
    return [{ label, choice, names: [...names], rates, window, key }]
  })
  const order = [...Object.keys(sources.providers), ...Object.keys(builtInProviders)]
  const placeOf = ({ choice: { provider } }: KnownModel): number =>
    order.indexOf(provider.kind === 'host' ? provider.name : '')
  return models.toSorted((left, right) => placeOf(left) - placeOf(right))
}

/** Undefined for a name that means nothing here, such as a role without a key. */
function choiceOf(name: string, sources: ModelSources, table: ModelTable): ModelChoice | undefined {
  try {
    const selection = selectModel(name, sources, table)
    return selection.kind === 'chosen' && selection.choice.provider.kind === 'host' ? selection.choice : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

function isAbout({ label, names }: KnownModel, word: string): boolean {
  return [label, ...names].some((text) => text.toLowerCase().includes(word.toLowerCase()))
}

function noneFound(word: string, all: readonly KnownModel[]): Error {
  const meant = nearest(
    word,
    all.flatMap(({ label, names, choice }) => [...names, choice.model, label]),
  )
  const hint = `${meant === undefined ? '' : `Did you mean "${meant}"? `}baton models lists the models that have a short name.`
  return usageError(`no known model contains "${harmlessName(word)}"`, hint)
}

/** The variable or config key of the key, and whether it is set; undefined if none is needed. Never its value. */
function keyOf({ provider }: ModelChoice, env: ModelSources['env']): KnownModel['key'] {
  if (provider.kind !== 'host') return undefined
  const { keyCommand, apiKeyEnv } = provider
  if (keyCommand !== undefined) return { name: keyCommand.from, isSet: true }
  return apiKeyEnv === undefined ? undefined : { name: apiKeyEnv, isSet: readVariable(env, apiKeyEnv) !== undefined }
}

function recordOf({ label, choice, names, rates, window, key }: KnownModel): object {
  const provider = choice.provider.kind === 'host' ? choice.provider.name : undefined
  return {
    kind: 'model',
    label,
    provider,
    model: choice.model,
    names,
    input: rates?.input ?? null,
    cached: rates?.cached ?? null,
    output: rates?.output ?? null,
    window: window ?? null,
    key: key?.name ?? null,
    key_set: key?.isSet ?? null,
  }
}

const headings = ['model', 'names', 'input', 'cached', 'output', 'window', 'key'] as const

function cellsOf({ label, names, rates, window, key }: KnownModel): readonly string[] {
  const dollars = rates === undefined ? ['-', '-', '-'] : [rates.input, rates.cached, rates.output].map(dollarsText)
  const keyText = key === undefined ? 'not needed' : `${key.name}${key.isSet ? '' : ' (not set)'}`
  return [label, names.join(' '), ...dollars, window === undefined ? '-' : windowText(window), keyText].map(
    harmlessName,
  )
}

function dollarsText(dollars: number): string {
  const text = String(Number(dollars.toFixed(4)))
  return `$${/\.\d$/.test(text) ? `${text}0` : text}`
}

function windowText(tokens: number): string {
  return tokens < 1e6 ? `${Math.round(tokens / 1000)}k` : `${Number((tokens / 1e6).toFixed(2))}M`
}

/** Lines with columns of equal width; numbers are aligned to the right. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = headings.map((_, index) => Math.max(...rows.map((row) => (row[index] ?? '').length)))
  return rows.map((row) => {
    const cells = row.map((cell, index) => {
      const width = widths[index] ?? 0
      return index > 1 && index < 6 ? cell.padStart(width) : cell.padEnd(width)
    })
    return cells.join('  ').trimEnd()
  })
}
