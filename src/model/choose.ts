import { gatewayKeyEnv, gatewayUrlEnv } from './builtin.ts'
import type { ModelChoice, ModelSources } from './choice.ts'
import type { HostModel } from './local.ts'
import { offlineChoice, offlineName, selectModel } from './select.ts'
import type { ModelTable } from './table.ts'
import { noModelFor, someKeys } from './unknown.ts'

export interface ChoosingOptions {
  readonly loadTable: () => Promise<ModelTable>
  /** Called only when neither a name nor a key decides. */
  readonly findLocal: () => Promise<HostModel | undefined>
}

/**
 * `selectModel`, and what it leaves undecided: a local server that answers, else for no name the offline model with a
 * notice, for `normal`, `high` and `fast` an error (DESIGN 8).
 * @throws BatonError CONFIG_INVALID as `selectModel`, or when no model stands behind one of the three aliases
 */
export async function chooseModelFor(
  name: string | undefined,
  sources: ModelSources,
  { loadTable, findLocal }: ChoosingOptions,
): Promise<ModelChoice> {
  if (name?.trim() === offlineName) return offlineChoice
  const selection = selectModel(name, sources, await loadTable())
  if (selection.kind === 'chosen') return selection.choice
  const local = await findLocal()
  const { role, reasoningEffort } = selection
  if (role === undefined) return local === undefined ? { ...offlineChoice, notice: offlineNotice } : unnamed(local)
  if (local === undefined) throw noModelFor(role)
  return { ...localChoice(local), ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
}

const offlineNotice = `no model is configured: the built-in ${offlineName} answers by quoting the given files; for a real model name one with -m and set its key (${someKeys}), start a local server (Ollama, LM Studio, llama-server), or set ${gatewayUrlEnv} (and ${gatewayKeyEnv})`

/** Its names are taken as they are: an effort word is part of them. */
function localChoice({ provider, model }: HostModel): ModelChoice {
  return { provider, model, label: `${provider.name}::${model}` }
}

function unnamed(local: HostModel): ModelChoice {
  const choice = localChoice(local)
  const { host } = new URL(local.provider.baseUrl)
  return { ...choice, notice: `no model is configured: ${choice.label} on ${host} answers` }
}
