import { join } from 'node:path'
import { aipackBaseFolder, type Surroundings, userDataFolder } from '../config/locate.ts'

/**
 * The folders that are searched for packs, best first (DESIGN 3): ours of the workspace, AIPack's of the workspace, the
 * user's own, then those of `~/.aipack-base`.
 */
export function packRoots(workspace: string, around: Pick<Surroundings, 'env' | 'home'>): readonly string[] {
  const base = aipackBaseFolder(around)
  return [
    workspacePacks(workspace),
    join(workspace, '.aipack', 'pack', 'custom'),
    userPacks(around),
    join(base, 'pack', 'custom'),
    join(base, 'pack', 'installed'),
  ]
}

/** Where packs of a workspace are installed. */
export function workspacePacks(workspace: string): string {
  return join(workspace, '.baton', 'packs')
}

/** Where packs are installed for all workspaces. */
export function userPacks(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'packs')
}
