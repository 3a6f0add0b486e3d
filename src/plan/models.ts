import { pricedModel } from '../agent/models.ts'
import { isBatonError } from '../base/error.ts'
import { checkModel } from '../load/check/models.ts'
import { userPricesFile } from '../config/locate.ts'
import type { Settings } from '../config/settings.ts'
import type { Environment } from '../model/choice.ts'
import type { PricedModel, PriceList } from '../model/prices.ts'
import { offlineName, selectModel } from '../model/select.ts'
import { loadModelTable, type ModelTable } from '../model/table.ts'

/** The model that a name resolves to, as far as that is known without contacting anything. */
export interface PlannedModel {
  /** For people, for example `openai::gpt-5-mini`. */
  readonly label: string
  /** `at_start`: a server of this machine is looked for when the run starts. `unknown`: the name does not resolve. */
  readonly kind: 'known' | 'at_start' | 'unknown'
  /** What its price is looked up by; undefined for a name that does not resolve. */
  readonly priced: PricedModel | undefined
  /** Its host has a batch API. */
  readonly hasBatches?: boolean
}

export interface ModelPlanner {
  /**
   * The model of a name; undefined means the default model.
   * @throws BatonError CONFIG_INVALID for a name that does not resolve
   */
  readonly choose: (name: string | undefined) => Promise<PlannedModel>
  /** The same, but a name that does not resolve is a note, because it is no error until the model is called. */
  readonly chooseOrNote: (name: string | undefined) => Promise<PlannedModel>
  /** Loads the prices at the first use. */
  readonly prices: () => Promise<PriceList>
}

export interface ModelPlannerOptions {
  readonly env: Environment
  readonly home: string
  readonly settings: Settings
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
  /** Called with what would go wrong when a model is called. */
  readonly onNote: (note: string) => void
}

/** Looks up models as a run does, but contacts no server. */
export function createModelPlanner({ env, home, settings, tableFile, onNote }: ModelPlannerOptions): ModelPlanner {
  const priceFiles = { tableFile, updatedFile: userPricesFile({ env, home }) }
  const { providers, gateway, model_aliases: aliases, prices: own } = settings
  let table: Promise<ModelTable> | undefined
  let prices: Promise<PriceList> | undefined

  async function choose(name: string | undefined): Promise<PlannedModel> {
    if (name?.trim() === offlineName) return { label: offlineName, kind: 'known', priced: offline }
    const loaded = await (table ??= loadModelTable(tableFile))
    const selection = selectModel(name, { env, providers, gateway, aliases }, loaded)
    if (selection.kind === 'chosen') {
      await noteKey(name, loaded)
      const { label, provider } = selection.choice
      const hasBatches = provider.kind === 'host' && provider.hasBatches === true
      return { label, kind: 'known', priced: pricedModel(selection.choice, own), hasBatches }
    }
    const { role } = selection
    const label = role === undefined ? `a local server, else ${offlineName}` : `${role} of a local server`
    return { label, kind: 'at_start', priced: { ...offline, provider: 'local' } }
  }

  async function noteKey(name: string | undefined, loaded: ModelTable): Promise<void> {
    if (name === undefined) return
    const named = { name, placeOf: () => Promise.resolve({ file: name }) }
    for (const { message, hint } of await checkModel(named, { env, settings, table: loaded })) {
      onNote(`${message}: ${hint.charAt(0).toLowerCase()}${hint.slice(1)}`)
    }
  }

  return {
    choose,
    async chooseOrNote(name) {
      try {
        return await choose(name)
      } catch (error) {
        if (!isBatonError(error)) throw error
        onNote(error.message)
        return { label: name ?? 'the default model', kind: 'unknown', priced: undefined }
      }
    },
    prices: () => (prices ??= import('../model/prices.ts').then(({ loadPrices }) => loadPrices(priceFiles))),
  }
}

const offline: PricedModel = { provider: 'offline', baseUrl: undefined, model: offlineName, isFree: true }
