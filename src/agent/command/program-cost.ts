import type { CommandLine } from '../../event/agent.ts'
import type { Estimate } from '../../event/effects.ts'
import { noUsage, type Usage } from '../../event/message.ts'
import type { Spent } from '../../event/meter.ts'
import { ownPrice, type OwnPrices } from '../../model/own-price.ts'
import type { PricedModel, PriceList } from '../../model/prices.ts'
import type { AgentParts } from '../parts.ts'
import type { ProgramReport } from './listen.ts'
import { presets } from './presets/preset.ts'

export type Pricing = Pick<AgentParts, 'prices' | 'ownPrices' | 'limitsCost'>

/**
 * The budget reservation of a call. Its cost is unknown, so it reserves the minimum of each measure, and is refused
 * once nothing is left. If its price will be unknown as well, it reserves no dollars; a limit in US dollars refuses
 * that unless it allows unpriced calls.
 */
export async function estimateOf(line: CommandLine, model: string | undefined, parts: Pricing): Promise<Estimate> {
  const least = { calls: 1, tokens: 1 }
  if (!parts.limitsCost()) return least
  return (await willBePriced(line, model, parts)) ? { ...least, usd: 1e-9 } : least
}

async function willBePriced(
  { preset }: CommandLine,
  model: string | undefined,
  { prices, ownPrices }: Pricing,
): Promise<boolean> {
  if (preset === undefined) return false
  if (presets[preset].tellsCost) return true
  return model !== undefined && (await prices()).perToken(pricedAs(preset, model, ownPrices)) !== undefined
}

/**
 * The usage and cost of a run: the cost that the program reports, else its tokens at the user's prices or those of its
 * provider, else unknown (null). `before`: what its session had used before.
 */
export async function usageAndCost(
  { name, line }: { readonly name: string; readonly line: CommandLine },
  { usage, costUsd, model }: Pick<ProgramReport, 'usage' | 'costUsd' | 'model'>,
  {
    before,
    loadPrices,
    ownPrices,
  }: {
    readonly before: Usage | undefined
    readonly loadPrices: () => Promise<PriceList>
    readonly ownPrices?: OwnPrices | undefined
  },
): Promise<Spent> {
  const { preset } = line
  if (preset === undefined || usage === undefined) {
    return { model: label(preset ?? name, model), usage: { ...noUsage, calls: 1 }, costUsd: costUsd ?? null }
  }
  const used = before === undefined ? usage : minus(usage, before)
  const cost =
    costUsd ?? (model === undefined ? undefined : (await loadPrices()).costOf(pricedAs(preset, model, ownPrices), used))
  return { model: label(preset, model), usage: used, costUsd: cost ?? null }
}

function label(name: string, model: string | undefined): string {
  return model === undefined ? name : `${name}::${model}`
}

/** The user may set a price for the program's name (`codex::gpt-5`) or for its provider's (`openai::gpt-5`). */
function pricedAs(
  preset: NonNullable<CommandLine['preset']>,
  model: string,
  ownPrices: OwnPrices | undefined = {},
): PricedModel {
  const { provider, model: name } = providerOf(preset, model)
  const labels = [label(preset, model), `${provider}::${name}`]
  const own = labels.flatMap((text) => ownPrice(ownPrices, { model: name, label: text }) ?? []).at(0)
  const priced = { provider, baseUrl: undefined, model: name, isFree: false }
  return own === undefined ? priced : { ...priced, own }
}

/** OpenCode names models `provider/model`. */
function providerOf(
  preset: NonNullable<CommandLine['preset']>,
  model: string,
): { readonly provider: string; readonly model: string } {
  const { provider } = presets[preset]
  if (provider !== undefined) return { provider, model }
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), model: model.slice(slash + 1) }
}

function minus(usage: Usage, before: Usage): Usage {
  const less = (key: 'input' | 'output' | 'cached' | 'reasoning'): number => Math.max(0, usage[key] - before[key])
  const written = Math.max(0, (usage.cache_write ?? 0) - (before.cache_write ?? 0))
  return {
    calls: usage.calls,
    input: less('input'),
    output: less('output'),
    cached: less('cached'),
    reasoning: less('reasoning'),
    ...(written === 0 ? {} : { cache_write: written }),
  }
}
