import { defined } from '../base/json.ts'
import type { Definitions } from '../config/collect-definitions.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { definitionsOf } from '../pack/definitions.ts'
import { packRoots } from '../pack/find-pack.ts'
import { nameGuard } from '../pack/name-guard.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { TargetOptions } from './target.ts'

/** The agents that have a name for a prompt file, with those of its front matter. What is wrong with one is said where it is used. */
export function definitionsOfPrompt(spec: RunSpec, options: TargetOptions): Promise<Definitions> {
  const { workspace, file: promptFile } = spec
  const { below, own, above } = spec.layers
  const layers = [...below, own, ...above]
  const guard = nameGuard(workspace, options)
  const areOffered = startsAgents(spec)
  const roots = packRoots(workspace, options)
  return definitionsOf({ workspace, layers, packRoots: roots, guard, promptFile, areOffered }, options)
}

/** Whether the model of a prompt file has the tool `task`. */
export function startsAgents({ settings: { tools = [], disallowed_tools } }: Pick<RunSpec, 'settings'>): boolean {
  return passesFilters('task', [{ tools, ...defined({ disallowed_tools }) }])
}
