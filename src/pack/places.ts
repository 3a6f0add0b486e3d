import { join } from 'node:path'
import { aipackBaseFolder, type Surroundings, userDataFolder } from '../config/locate.ts'

/**
 * The folders that are searched for packs, best first (DESIGN 3): ours of the workspace, AIPack's of the workspace, the
 * user's own, then those of `~/.aipack-base`.
 */
export function packRoots(workspace: string, around: Pick<Surroundings, 'env' | 'home'>): readonly string[] {
  const base = aipackBaseFolder(around)
  return [
    join(workspace, '.baton', 'packs'),
    join(workspace, '.aipack', 'pack', 'custom'),
    join(userDataFolder(around), 'packs'),
    join(base, 'pack', 'custom'),
    join(base, 'pack', 'installed'),
  ]
}
