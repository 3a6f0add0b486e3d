import type { AgentDefinition } from '../config/agent-definitions.ts'
import { findWorkspace } from '../config/locate.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'
import { packRoots } from '../pack/find-pack.ts'
import { nameGuard } from '../pack/name-guard.ts'
import { definitionsOf } from './definitions.ts'

/**
 * The agents that have a name here, for lists. What cannot be used, or a config that is wrong, is given to `onProblem`, and the
 * others are listed all the same.
 */
export async function definitionsHere(
  options: ConfigOptions & { readonly builtInDir: string },
  onProblem: (error: unknown) => void,
): Promise<readonly AgentDefinition[]> {
  const workspace = findWorkspace(options)
  const layers = await loadTargetConfig(options).then(
    (config) => config.layers,
    (error: unknown) => {
      onProblem(error)
      return []
    },
  )
  const guard = nameGuard(workspace, options)
  const around = { workspace, layers, packRoots: packRoots(workspace, options), guard }
  const { byName, broken } = await definitionsOf(around, options)
  for (const error of broken.values()) onProblem(error)
  return [...byName.values()]
}
