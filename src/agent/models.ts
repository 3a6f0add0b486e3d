import type { ModelTimeouts } from '../model/call.ts'
import type { SupportedFiles } from '../event/message.ts'
import { createProvider } from '../model/create.ts'
import type { ModelChoice, ModelSources } from '../model/choice.ts'
import { ownPrice, type OwnPrices } from '../model/own-price.ts'
import type { PricedModel } from '../model/prices.ts'
import { chooseModelFor } from '../model/select.ts'
import { findLocalModel } from '../model/local.ts'
import { loadModelTable, type ModelTable } from '../model/table.ts'
import type { ChosenModel } from './parts.ts'

export interface ModelChooserOptions {
  readonly sources: ModelSources
  /** The user's prices. */
  readonly prices?: OwnPrices
  readonly timeouts: ModelTimeouts
  /** The user's setting of what models accept besides text. */
  readonly files?: readonly ('image' | 'pdf')[] | undefined
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
  readonly signal: AbortSignal
  /** As in `chooseModelFor`. */
  readonly isAttended: boolean
  /** As in `createProvider`. */
  readonly onKey?: (name: string, key: string) => void
  /** Called once per notice about a choice of a model. */
  readonly onNotice: (notice: string) => void
}

/** Resolves model names to providers; each name is looked up and created once per run. */
export function createModelChooser({
  sources,
  prices = {},
  timeouts,
  files,
  tableFile,
  signal,
  isAttended,
  onKey,
  onNotice,
}: ModelChooserOptions): (name: string | undefined) => Promise<ChosenModel> {
  let table: Promise<ModelTable> | undefined
  const chosen = new Map<string | undefined, Promise<ChosenModel>>()
  const told = new Set<string>()

  async function choose(name: string | undefined): Promise<ChosenModel> {
    const choice = await chooseModelFor(name, sources, {
      loadTable: () => (table ??= loadModelTable(tableFile)),
      findLocal: () => findLocalModel({ env: sources.env, signal }),
      isAttended,
    })
    const provider = await createProvider(choice, { env: sources.env, timeouts, onKey })
    if (choice.notice !== undefined) onNotice(choice.notice)
    const { model, label, reasoningEffort } = choice
    return {
      provider,
      model,
      label,
      taken: takenFiles(choice, files),
      priced: pricedModel(choice, prices),
      unsent: unsentOf({ provider, label }),
      usageWarning: () => usageWarning(label),
      ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    }
  }

  function unsentOf({ provider, label }: Pick<ChosenModel, 'provider' | 'label'>): NonNullable<ChosenModel['unsent']> {
    return (request) => {
      const unsent = provider.unsent?.(request).filter(({ name }) => !told.has(`${name} ${label}`)) ?? []
      return unsent.map(({ name, reason, hint }) => {
        told.add(`${name} ${label}`)
        return { message: `${name} is not sent: ${label} ${reason}`, hint }
      })
    }
  }

  function usageWarning(label: string): ReturnType<NonNullable<ChosenModel['usageWarning']>> {
    const key = `usage ${label}`
    if (told.has(key)) return undefined
    told.add(key)
    return {
      message: `${label} reports no usage: its tokens are estimated`,
      hint: 'The limits in [budget] count the estimate.',
    }
  }

  return (name) => {
    const known = chosen.get(name)
    if (known !== undefined) return known
    const made = choose(name)
    chosen.set(name, made)
    return made
  }
}

/** The key for the price of a model. A model with a price set by the user is not free. */
export function pricedModel({ provider, model, label }: ModelChoice, prices: OwnPrices): PricedModel {
  if (provider.kind === 'offline') return { provider: 'offline', baseUrl: undefined, model, isFree: true }
  const { name, baseUrl, isFree } = provider
  const own = ownPrice(prices, { model, label })
  return own === undefined
    ? { provider: name, baseUrl, model, isFree }
    : { provider: name, baseUrl, model, isFree: false, own }
}

/**
 * The user's setting takes precedence over what is known of the host. Formats other than `chat` support document parts.
 */
function takenFiles({ provider }: ModelChoice, files: ModelChooserOptions['files']): SupportedFiles {
  if (files !== undefined) return { image: files.includes('image'), document: files.includes('pdf') }
  if (provider.kind === 'offline') return { image: false, document: false }
  const { format, quirks } = provider
  return { image: quirks.files !== 'none', document: quirks.files === 'all' || format !== 'chat' }
}
