import { join, relative, resolve } from 'node:path'
import { displayPath, isInside } from '../../base/files.ts'
import type { RunFolders } from '../../event/context.ts'

/**
 * Maps a path (absolute) in the workspace of the run to the work tree that these folders belong to. Other paths, and
 * those in the work tree, are returned unchanged.
 */
export function pathHere({ workspace, standsFor }: Pick<RunFolders, 'workspace' | 'standsFor'>, path: string): string {
  if (isInside(workspace, path)) return path
  const around = standsFor?.find((folder) => isInside(folder, path))
  return around === undefined ? path : join(workspace, relative(around, path))
}

/** The workspace of the run, which paths of the user's files are relative to. */
export function ownWorkspace({ workspace, standsFor }: Pick<RunFolders, 'workspace' | 'standsFor'>): string {
  return standsFor?.at(-1) ?? workspace
}

/**
 * Converts a path relative to the workspace of these folders to one relative to the workspace of the run, for records.
 */
export function recordedPath(folders: Pick<RunFolders, 'workspace' | 'standsFor'>, shown: string): string {
  return displayPath(ownWorkspace(folders), resolve(folders.workspace, shown))
}
