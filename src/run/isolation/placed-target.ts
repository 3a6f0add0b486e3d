import type { Settings } from '../../config/settings.ts'
import type { RunFolders } from '../../event/context.ts'
import { pathHere } from '../../tool/worktree/tree-paths.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { StrategyLoader } from '../../load/strategy.ts'

/** Maps `base_dir` into the workspace of these folders, which may be a work tree of the original one. */
export function settingsHere<S extends Pick<Settings, 'base_dir'>>(settings: S, folders: RunFolders): S {
  return { ...settings, base_dir: pathHere(folders, settings.base_dir) }
}

/** Lets a prompt file work in the workspace of these folders. The file and its agents are read from their own places. */
export function targetHere(target: PromptTarget, folders: RunFolders): PromptTarget {
  if (folders.standsFor === undefined) return target
  return {
    ...target,
    settings: settingsHere(target.settings, folders),
    settingsFor: (params) => settingsHere(target.settingsFor(params), folders),
  }
}

/** Removes the isolation settings of a prompt file and of its parts, because nothing else uses its workspace. */
export function targetInPlace(target: PromptTarget, strategies: readonly StrategyLoader[]): PromptTarget {
  const inPlace = ({ isolation: _isolation, gate: _gate, ...settings }: Settings): Settings =>
    strategies.reduce<Settings>((placed, row) => row.inPlace?.(placed) ?? placed, settings)
  return {
    ...target,
    settings: inPlace(target.settings),
    settingsFor: (params) => inPlace(target.settingsFor(params)),
  }
}
