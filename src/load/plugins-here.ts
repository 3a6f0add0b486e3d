import { createModeRegistry } from '../agent/modes/registry.ts'
import type { KnownMode } from '../agent/modes/mode.ts'
import { loadPlugins } from '../agent/plugins/load.ts'
import { noPlugins, type Plugins } from '../agent/plugins/plugin.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'

/** One thing that a plug-in adds. */
export interface PluginAddition extends Pick<Plugins, 'modes' | 'tools'> {
  /** Name of the plug-in. */
  readonly id: string
}

export function builtInModes(): readonly KnownMode[] {
  return createModeRegistry().list()
}

/** What the plug-ins of the config add, for lists. Plug-ins that cannot be used are reported to `onProblem`. */
export async function pluginsHere(
  options: ConfigOptions,
  onProblem: (error: unknown) => void,
): Promise<readonly PluginAddition[]> {
  const files = await orProblem([], onProblem, async () => (await loadTargetConfig(options)).settings.plugins ?? [])
  const brought: PluginAddition[] = []
  for (const file of files) {
    const { ids, modes, tools } = await orProblem(noPlugins, onProblem, () => loadPlugins([file]))
    brought.push(...ids.map((id) => ({ id, modes, tools })))
  }
  return brought
}

async function orProblem<T>(usual: T, onProblem: (error: unknown) => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    onProblem(error)
    return usual
  }
}
