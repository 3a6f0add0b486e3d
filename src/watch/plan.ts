import { dirname } from 'node:path'
import { realPath } from '../base/files.ts'
import { isFolder, isLink } from './prints.ts'

/** A file that a run has read, as it was then. */
export interface WatchedFile {
  /** Text that is equal for equal content; null: there was no file. */
  readonly print: string | null
  /** The same for its content now. */
  readonly look: () => string | null
}

/** What globs find. Absolute paths. */
export interface Listing {
  readonly files: readonly string[]
  /** Every folder that was looked into; some need not exist. */
  readonly folders: readonly string[]
}

export interface WatchedList {
  readonly found: readonly string[]
  readonly look: () => Listing
}

/** What a run has read: the files by their absolute paths, and the lists by any name. */
export interface WatchPlan {
  readonly files: ReadonlyMap<string, WatchedFile>
  readonly lists: ReadonlyMap<string, WatchedList>
}

/** A comparison of a plan with the files as they are now. */
export interface Look {
  /** Paths that have changed since they were read, in order. */
  readonly changed: readonly string[]
  /** Those of them that do not exist any more. */
  readonly gone: readonly string[]
  /** Equal for two looks that saw the same. */
  readonly state: string
  /** Every folder that the lists looked into. */
  readonly folders: readonly string[]
}

const none: ReadonlySet<string> = new Set()

/** Compares a plan with the files as they are now: a run starts only when something differs. `held` paths are left out. */
export function lookAt({ files, lists }: WatchPlan, held: ReadonlySet<string> = none): Look {
  const watched = [...files].filter(([path]) => !held.has(path))
  const seen = watched.map(([path, { print, look }]) => ({ path, print, now: look() }))
  const differing = seen.filter(({ print, now }) => print !== now)
  const listings = [...lists.values()].map(({ found, look }) => {
    const { files: now, folders } = look()
    return { found: without(found, held), files: without(now, held), folders }
  })
  const added = listings.flatMap((list) => without(list.files, list.found))
  const lost = listings.flatMap((list) => without(list.found, list.files))
  const gone = [...differing.filter(({ now }) => now === null).map(({ path }) => path), ...lost]
  return {
    changed: inOrder([...differing.map(({ path }) => path), ...added, ...lost]),
    gone: inOrder(gone),
    state: JSON.stringify([seen.map(({ now }) => now), listings.map((list) => list.files)]),
    folders: inOrder(listings.flatMap(({ folders }) => folders)),
  }
}

/** The same plan with everything read again now. */
export function asNow({ files, lists }: WatchPlan): WatchPlan {
  return {
    files: new Map([...files].map(([path, file]) => [path, { ...file, print: file.look() }])),
    lists: new Map([...lists].map(([name, list]) => [name, { ...list, found: list.look().files }])),
  }
}

/** The paths that are not among the others. */
export function without(paths: readonly string[], others: Iterable<string>): readonly string[] {
  const known = others instanceof Set ? others : new Set(others)
  return paths.filter((path) => !known.has(path))
}

function inOrder(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].toSorted()
}

/** Where changes are to be noticed. Absolute paths. */
export interface WatchTargets {
  /** Folders that exist, without the folders below them. */
  readonly folders: ReadonlySet<string>
  /** Folders among them in which every entry counts. */
  readonly listed: ReadonlySet<string>
  /** Entries of the other folders that count; they need not exist. */
  readonly entries: ReadonlySet<string>
}

/** Everything that has to be watched to notice any change to a plan. */
export function targetsOf({ files }: WatchPlan, { folders: lists }: Pick<Look, 'folders'>): WatchTargets {
  const listed = new Set(lists.filter(isFolder))
  const entries = new Set<string>()
  for (const path of files.keys()) {
    entries.add(nearest(path))
    if (isLink(path)) entries.add(nearest(realPath(path)))
  }
  // the first folder of a list may be removed and created again
  for (const folder of lists) if (!listed.has(dirname(folder))) entries.add(nearest(folder))
  return { folders: new Set([...listed, ...[...entries].map((entry) => dirname(entry))]), listed, entries }
}

/** The path, or the first missing part of it, which is in a folder that exists. */
function nearest(path: string): string {
  const folder = dirname(path)
  return folder === path || isFolder(folder) ? path : nearest(folder)
}

/** Whether a change to this path can matter. */
export function counts(path: string, { listed, entries }: WatchTargets): boolean {
  return entries.has(path) || listed.has(path) || listed.has(dirname(path))
}
