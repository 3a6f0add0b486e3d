import { noPlugins, type Plugins } from '../agent/plugins/plugin.ts'
import { isBatonError } from '../base/error.ts'
import type { ReadLog } from '../base/reads.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { type Settings } from '../config/settings.ts'
import { placeModelError } from './model-place.ts'

/**
 * Loads the plug-ins of the settings. `reads` gets the paths of their modules.
 * @throws BatonError CONFIG_INVALID for a plug-in that cannot be used
 */
export async function pluginsOf({ plugins }: Pick<Settings, 'plugins'>, reads?: ReadLog): Promise<Plugins> {
  if (plugins === undefined) return noPlugins
  return (await import('../agent/plugins/load.ts')).loadPlugins(plugins, reads)
}

/**
 * Checks that the plug-ins of a prompt file can be used, and that its mode is known and takes the given options.
 * @throws BatonError CONFIG_INVALID at the place where they are named
 */
export async function checkMode(spec: RunSpec): Promise<void> {
  const { mode = 'classic', plugins } = spec.settings
  const options = spec.settings.mode_options ?? {}
  if (mode === 'classic' && plugins === undefined) return
  const { createModeRegistry, modeNamed, refuseOptions } = await import('../agent/modes/registry.ts')
  const brought = await placed(spec, 'plugins', () => pluginsOf(spec.settings))
  await placed(spec, 'mode', async () => {
    const modes = createModeRegistry(brought.modes)
    modeNamed(mode, modes)
    await refuseOptions(mode, options, modes)
  })
}

/** Places errors of the work where the key is written. */
async function placed<T>(spec: RunSpec, key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isBatonError(error) ? await placeModelError(error, [key], spec) : error
  }
}
