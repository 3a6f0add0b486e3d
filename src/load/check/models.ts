import { isBatonError, type SourcePlace } from '../../base/error.ts'
import { withoutTools } from '../../agent/check-models.ts'
import type { Settings } from '../../config/settings.ts'
import { type Environment, readVariable } from '../../model/choice.ts'
import { selectModel } from '../../model/select.ts'
import type { ModelTable } from '../../model/table.ts'
import type { Problem } from './problem.ts'

/** A model name and its place, which is only looked up for a problem. */
export interface NamedModel {
  readonly name: string
  readonly placeOf: () => Promise<SourcePlace>
  /** Aliases in addition to those of the settings. */
  readonly aliases?: Readonly<Record<string, string>>
  /** It gets tools, and must be able to call them. */
  readonly usesTools?: boolean
}

export interface ModelSurroundings {
  readonly env: Environment
  readonly settings: Pick<Settings, 'providers' | 'gateway' | 'model_aliases'>
  readonly table: ModelTable
}

/** Whether the name resolves, and whether its key is set. No model is called. */
export async function checkModel(model: NamedModel, around: ModelSurroundings): Promise<readonly Problem[]> {
  const finding = findingOf(model, around)
  return finding === undefined ? [] : [{ ...finding, place: await model.placeOf(), trail: [] }]
}

function findingOf(
  { name, aliases, usesTools = false }: NamedModel,
  { env, settings, table }: ModelSurroundings,
): Omit<Problem, 'place' | 'trail'> | undefined {
  const { providers, gateway, model_aliases: shared } = settings
  try {
    const selection = selectModel(name, { env, providers, gateway, aliases: { ...shared, ...aliases } }, table)
    if (selection.kind === 'undecided') return undefined
    if (selection.choice.provider.kind === 'offline') {
      return usesTools ? { severity: 'error', ...withoutTools(selection.choice.label) } : undefined
    }
    const { provider, label } = selection.choice
    const { apiKeyEnv, keyRequired } = provider
    if (!keyRequired || apiKeyEnv === undefined || readVariable(env, apiKeyEnv) !== undefined) return undefined
    const message = `${label} needs a key, but ${apiKeyEnv} is not set`
    return { severity: 'warning', code: 'KEY_MISSING', message, hint: `Set ${apiKeyEnv} before you run it.` }
  } catch (error) {
    if (!isBatonError(error)) throw error
    const { code, message, hint = '' } = error
    return { severity: 'error', code, message, hint }
  }
}
