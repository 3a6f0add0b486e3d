import { collectDefinitions, type Definitions } from '../config/collect-definitions.ts'
import type { Layer } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { listPacks, packRoots } from '../pack/find-pack.ts'
import { type NameGuard, nameGuard, refuseHidden } from '../pack/name-guard.ts'
import type { TargetOptions } from './target.ts'

interface DefinitionSurroundings {
  readonly workspace: string
  readonly layers: readonly Layer[]
  readonly packRoots: readonly string[]
  readonly guard: NameGuard
  /** Absolute path of the prompt file that is run. */
  readonly promptFile?: string
}

/** The agents that have a name for a run. What is wrong with one of them is said where it is used. */
export function definitionsOf(
  { packRoots: roots, guard, ...places }: DefinitionSurroundings,
  { cwd, env, home, builtInDir, reads }: Pick<TargetOptions, 'cwd' | 'env' | 'home' | 'builtInDir' | 'reads'>,
): Promise<Definitions> {
  return collectDefinitions({
    ...places,
    cwd,
    env,
    home,
    builtInDir,
    reads,
    packs: listPacks({ packRoots: roots }),
    refuseHidden: (hidden) => refuseHidden({ ...hidden, kind: 'file' }, guard),
  })
}

/** The same for a prompt file, with those of its front matter. */
export function definitionsOfPrompt(spec: RunSpec, options: TargetOptions): Promise<Definitions> {
  const { workspace, file: promptFile } = spec
  const { below, own, above } = spec.layers
  const layers = [...below, own, ...above]
  const guard = nameGuard(workspace, options)
  return definitionsOf({ workspace, layers, packRoots: packRoots(workspace, options), guard, promptFile }, options)
}
