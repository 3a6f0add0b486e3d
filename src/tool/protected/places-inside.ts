import { entryStatus } from '../../base/entries.ts'
import { join } from 'node:path'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { compileGlobs } from '../../base/glob.ts'
import { isHeldPlace } from '../../base/held-place.ts'
import { gitPlaces } from './git-places.ts'
import { protectedNames } from './places.ts'

/** The protected places of a workspace as paths, for a sandbox that cannot check each change. Absolute. */
export interface PlacesInside {
  /** Those that exist. */
  readonly present: readonly string[]
  /** Those that do not exist and that models must not create. Only names directly in the workspace. */
  readonly missing: readonly string[]
  /** A protected name that is a link, which cannot be protected by a mount. */
  readonly link?: string
}

/**
 * `executed`: what the run executes, or would. `allow`: globs relative to the workspace, `[changes] allow` of the user.
 */
export function placesInside(
  workspace: string,
  { executed, allow }: { readonly executed: readonly string[]; readonly allow: readonly string[] },
): PlacesInside {
  const root = realPath(workspace)
  const opened = compileGlobs(allow)
  const names = protectedNames.map((name) => join(root, name))
  const git = gitPlaces(root)
  const byConfig = (git?.named ?? []).filter((path) => !opened.matches(displayPath(root, path)))
  const isBelow = (path: string): boolean => path !== root && isInside(root, path)
  const present = [...names, ...(git?.own ?? []), ...byConfig, ...executed.map(realPath)].filter(
    (path) => isBelow(path) && kindOf(path) !== 'missing',
  )
  const link = names.find((path) => kindOf(path) === 'link')
  return {
    present: [...new Set(present)],
    missing: names.filter((path) => kindOf(path) === 'missing'),
    ...(link === undefined ? {} : { link }),
  }
}

function kindOf(path: string): 'missing' | 'link' | 'entry' {
  const status = entryStatus(path)
  if (status === undefined || (status.isDirectory() && isHeldPlace(path))) return 'missing'
  return status.isSymbolicLink() ? 'link' : 'entry'
}
