import { isBatonError, rewordError } from '../base/error.ts'
import { placeOrigins } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'

/** Runs what asks the model; where its name or key is the trouble, the error is placed where the model is named. */
export async function withModelPlace<T>(
  { model }: Pick<Settings, 'model'>,
  spec: RunSpec,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isNamed = model !== undefined && model === spec.settings.model
    if (!isBatonError(error) || error.place !== undefined || !isNamed) throw error
    if (error.code !== 'CONFIG_INVALID' && error.code !== 'KEY_MISSING') throw error
    const { code, message, hint = '' } = error
    const written = spec.origins.filter(({ layer }) => layer.text !== undefined)
    const [issue] = await placeOrigins([{ code, message, hint, path: ['model'], part: 'value' }], written)
    throw rewordError(error, { place: issue?.place })
  }
}
