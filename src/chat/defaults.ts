import { loadTargetConfig } from '../config/target-config.ts'
import type { Surroundings } from '../config/locate.ts'

/**
 * The defaults of a chat without a prompt file, as `-c` takes them: all tools; tools that change files ask first.
 * @throws BatonError for an invalid config file
 */
export async function defaultOverrides(around: Surroundings, overrides: readonly string[]): Promise<readonly string[]> {
  const { origins } = await loadTargetConfig({ ...around, flags: { overrides } })
  const isSaid = (key: string): boolean =>
    origins.some(({ path, layer }) => path[0] === key && layer.origin.kind !== 'default')
  return [...(isSaid('tools') ? [] : ['tools=["*"]']), ...(isSaid('write_mode') ? [] : ['write_mode="ask"'])]
}
