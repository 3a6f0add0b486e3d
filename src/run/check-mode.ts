import { isBatonError } from '../base/error.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { placeModelError } from './model-place.ts'

/**
 * Whether the mode of a prompt file is known. Modes are loaded for files that name one.
 * @throws BatonError CONFIG_INVALID where the mode is named
 */
export async function checkMode(spec: RunSpec): Promise<void> {
  const { mode = 'classic' } = spec.settings
  if (mode === 'classic') return
  const { knownModes, refuseUnknownMode } = await import('../agent/modes/known.ts')
  try {
    refuseUnknownMode(mode, knownModes())
  } catch (error) {
    throw isBatonError(error) ? await placeModelError(error, ['mode'], spec) : error
  }
}
