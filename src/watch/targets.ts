import { dirname } from 'node:path'
import { realPath } from '../base/files.ts'
import type { Look, WatchPlan } from './plan.ts'
import { isLink, statusAt } from './status.ts'

/** Where changes are to be seen. Absolute paths. */
export interface WatchTargets {
  /** Folders that exist; what lies in folders below them is not meant. */
  readonly folders: ReadonlySet<string>
  /** Folders among them in which every entry counts. */
  readonly listed: ReadonlySet<string>
  /** Entries of the other folders that count; they need not exist. */
  readonly entries: ReadonlySet<string>
}

/** What has to be watched to see whatever could change what a plan has read. */
export function targetsOf({ files }: WatchPlan, { folders: lists }: Pick<Look, 'folders'>): WatchTargets {
  const listed = new Set(lists.filter(isFolder))
  const entries = new Set<string>()
  for (const path of files.keys()) {
    entries.add(nearest(path))
    if (isLink(path)) entries.add(nearest(realPath(path)))
  }
  // the first folder of a list may be removed and made again
  for (const folder of lists) if (!listed.has(dirname(folder))) entries.add(nearest(folder))
  return { folders: new Set([...listed, ...[...entries].map((entry) => dirname(entry))]), listed, entries }
}

/** The path, or the first part of it that is missing: it lies in a folder that exists. */
function nearest(path: string): string {
  const folder = dirname(path)
  return folder === path || isFolder(folder) ? path : nearest(folder)
}

function isFolder(path: string): boolean {
  return statusAt(path)?.isDirectory() === true
}

/** Whether something that happened to this path can matter. */
export function counts(path: string, { listed, entries }: WatchTargets): boolean {
  return entries.has(path) || listed.has(path) || listed.has(dirname(path))
}
