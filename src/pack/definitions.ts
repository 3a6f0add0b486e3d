import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { Definitions } from '../config/collect-definitions.ts'
import { issuesToError } from '../settings/issue.ts'
import type { Layer } from '../config/layers.ts'
import { findWorkspace } from '../config/locate.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'
import { listPacks, packRoots } from './find-pack.ts'
import { type NameGuard, nameGuard, refuseHidden } from './name-guard.ts'

interface DefinitionSurroundings {
  readonly workspace: string
  readonly layers: readonly Layer[]
  readonly packRoots: readonly string[]
  readonly guard: NameGuard
  /** Absolute path of the prompt file that is run. */
  readonly promptFile?: string
  /** A model may start them. */
  readonly areOffered?: boolean
}

type Around = Pick<ConfigOptions, 'cwd' | 'env' | 'home' | 'reads'> & { readonly builtInDir: string }

/** The named agents of a run. Errors in a definition are reported where it is used. */
export async function definitionsOf(
  { packRoots: roots, guard, areOffered = false, ...places }: DefinitionSurroundings,
  { cwd, env, home, builtInDir, reads }: Around,
): Promise<Definitions> {
  const { collectDefinitions } = await import('../config/collect-definitions.ts')
  return collectDefinitions({
    ...places,
    areOffered,
    cwd,
    env,
    home,
    builtInDir,
    reads,
    packs: listPacks({ packRoots: roots }),
    refuseHidden: (hidden) => refuseHidden({ ...hidden, kind: 'file' }, guard),
  })
}

/**
 * The named agents available here, for lists. Unusable definitions and config errors are passed to `onProblem`, and the
 * others are still listed.
 */
export async function definitionsHere(
  options: ConfigOptions & Around,
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
  const { byName, broken, notes } = await definitionsOf(around, options)
  for (const error of broken.values()) onProblem(error)
  for (const note of notes) onProblem(issuesToError([note]))
  return [...byName.values()]
}
