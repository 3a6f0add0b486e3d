import type { ModelTimeouts } from '../model/call.ts'
import type { TakenFiles } from '../event/message.ts'
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
  /** What the user says models cost. */
  readonly prices?: OwnPrices
  readonly timeouts: ModelTimeouts
  /** What the user says models take besides text. */
  readonly files?: readonly ('image' | 'pdf')[] | undefined
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
  readonly signal: AbortSignal
  /** As in `chooseModelFor`. */
  readonly isAttended: boolean
  /** Told once what a person should know about a choice. */
  readonly onNotice: (notice: string) => void
}

/** Turns model names into providers; each name is looked up and made once per run. */
export function createModelChooser({
  sources,
  prices = {},
  timeouts,
  files,
  tableFile,
  signal,
  isAttended,
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
    const provider = await createProvider(choice, { env: sources.env, timeouts })
    if (choice.notice !== undefined) onNotice(choice.notice)
    const { model, label, reasoningEffort } = choice
    return {
      provider,
      model,
      label,
      taken: takenFiles(choice, files),
      priced: pricedModel(choice, prices),
      unsent: unsentOf({ provider, label }),
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

  return (name) => {
    const known = chosen.get(name)
    if (known !== undefined) return known
    const made = choose(name)
    chosen.set(name, made)
    return made
  }
}

/** What the price of a model is looked up by. One that the user gives a price is not free. */
export function pricedModel({ provider, model, label }: ModelChoice, prices: OwnPrices): PricedModel {
  if (provider.kind === 'offline') return { provider: 'offline', baseUrl: undefined, model, isFree: true }
  const { name, baseUrl, isFree } = provider
  const own = ownPrice(prices, { model, label })
  return own === undefined
    ? { provider: name, baseUrl, model, isFree }
    : { provider: name, baseUrl, model, isFree: false, own }
}

/** What the user says of models counts; else what is known of the host. Formats that are not shared by everybody have parts for documents. */
function takenFiles({ provider }: ModelChoice, files: ModelChooserOptions['files']): TakenFiles {
  if (files !== undefined) return { image: files.includes('image'), document: files.includes('pdf') }
  if (provider.kind === 'offline') return { image: false, document: false }
  const { format, quirks } = provider
  return { image: quirks.files !== 'none', document: quirks.files === 'all' || format !== 'chat' }
}
