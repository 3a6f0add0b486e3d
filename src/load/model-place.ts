import type { DataPath } from '../base/data-text.ts'
import { type BatonError, isBatonError, rewordError } from '../base/error.ts'
import { placeOrigins } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'

/** Places an error about the name or key of a model where a file names the model; flags have no place. */
export async function placeModelError(error: BatonError, path: DataPath, spec: RunSpec): Promise<BatonError> {
  const { code, message, hint = '', place } = error
  if (place !== undefined || (code !== 'CONFIG_INVALID' && code !== 'KEY_MISSING')) return error
  const source = spec.origins.find(({ path: known }) => known[0] === path[0])
  if (source?.layer.text === undefined) return error
  const [issue] = await placeOrigins([{ code, message, hint, path, part: 'value' }], spec.origins)
  return rewordError(error, { place: issue?.place })
}

/** The models that the settings name, with their keys: `['model']`, `['fallback_models', 0]`. */
export function namedModels({
  model,
  fallback_models: fallbacks,
}: Pick<Settings, 'model' | 'fallback_models'>): readonly { readonly name: string; readonly path: DataPath }[] {
  const main = model === undefined ? [] : [{ name: model, path: ['model'] }]
  return [...main, ...fallbacks.map((name, index) => ({ name, path: ['fallback_models', index] }))]
}

/** Runs work that calls the model; an error about its name or key is placed where the model is named. */
export async function withModelPlace<T>(
  { model }: Pick<Settings, 'model'>,
  spec: RunSpec,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isNamed = model !== undefined && model === spec.settings.model
    throw isBatonError(error) && isNamed ? await placeModelError(error, ['model'], spec) : error
  }
}
