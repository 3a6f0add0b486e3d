import { dirname } from 'node:path'
import { realPath } from '../base/files.ts'
import { isFolder, isLink, statusAt } from './prints.ts'

/** A file that a run read, in its state at that time. */
export interface WatchedFile {
  /** Fingerprint: equal for equal content; '': the file was empty; null: it did not exist. */
  readonly print: string | null
  /** Takes the fingerprint of its present content. */
  readonly look: () => string | null
}

/** The matches of globs. Paths are absolute. */
export interface Listing {
  readonly files: readonly string[]
  /** Every folder that was searched; some may not exist. */
  readonly folders: readonly string[]
}

export interface WatchedList {
  readonly found: readonly string[]
  readonly look: () => Listing
  /** A file of the list as it is now; omitted if only the names count. */
  readonly watched?: (path: string) => WatchedFile
}

/** What a run read: files by absolute path, and lists by an arbitrary name. */
export interface WatchPlan {
  readonly files: ReadonlyMap<string, WatchedFile>
  readonly lists: ReadonlyMap<string, WatchedList>
}

/** A comparison of a plan with the present files. */
export interface PlanComparison {
  /** Paths that have changed since they were read, in order. */
  readonly changed: readonly string[]
  /** Those of them that are missing or empty now: an editor may be about to write them. */
  readonly unready: readonly string[]
  /** Equal for two looks that found the same state. */
  readonly state: string
  /** Every folder that the lists searched. */
  readonly folders: readonly string[]
}

const none: ReadonlySet<string> = new Set()

/** Compares a plan with the present files: a run starts only if something differs. `held` paths are ignored. */
export function comparePlan({ files, lists }: WatchPlan, held: ReadonlySet<string> = none): PlanComparison {
  const watched = [...files].filter(([path]) => !held.has(path))
  const seen = watched.map(([path, { print, look }]) => ({ path, print, now: look() }))
  const differing = seen.filter(({ print, now }) => print !== now)
  const listings = [...lists.values()].map(({ found, look }) => {
    const { files: now, folders } = look()
    return { found: without(found, held), files: without(now, held), folders }
  })
  const added = listings.flatMap((list) => without(list.files, list.found))
  const lost = listings.flatMap((list) => without(list.found, list.files))
  const blank = differing.filter(({ now }) => isBlank(now)).map(({ path }) => path)
  const unready = [...blank, ...added.filter((path) => statusAt(path)?.size === 0n), ...lost]
  return {
    changed: inOrder([...differing.map(({ path }) => path), ...added, ...lost]),
    unready: inOrder(unready),
    state: JSON.stringify([seen.map(({ now }) => now), listings.map((list) => list.files)]),
    folders: inOrder(listings.flatMap(({ folders }) => folders)),
  }
}

/** Whether a fingerprint is that of a missing or empty file. */
export function isBlank(print: string | null): boolean {
  return print === null || print === ''
}

/** The same plan with the present state of everything. */
export function withCurrentState({ files, lists }: WatchPlan): WatchPlan {
  return {
    files: new Map([...files].map(([path, file]) => [path, { ...file, print: file.look() }])),
    lists: new Map([...lists].map(([name, list]) => [name, { ...list, found: list.look().files }])),
  }
}

/** The same plan, with the present state of some files: they were changed in a way that starts no run. */
export function adopt(plan: WatchPlan, isAdopted: (path: string) => boolean): WatchPlan {
  const now = withCurrentState(plan)
  const made: (readonly [string, WatchedFile])[] = []
  const lists = [...plan.lists].map(([name, list]): [string, WatchedList] => {
    const { found } = now.lists.get(name) ?? list
    const added = without(found, list.found).filter(isAdopted)
    const removed = new Set(without(list.found, found).filter(isAdopted))
    const { watched } = list
    if (watched !== undefined) made.push(...added.map((path) => [path, watched(path)] as const))
    return [name, { ...list, found: [...list.found.filter((path) => !removed.has(path)), ...added] }]
  })
  const files = [...plan.files].map(([path, file]): [string, WatchedFile] => {
    const present = now.files.get(path) ?? file
    return [path, present.print !== file.print && isAdopted(path) ? present : file]
  })
  return { files: new Map([...made, ...files]), lists: new Map(lists) }
}

/** The paths that are not among the others. */
function without(paths: readonly string[], others: Iterable<string>): readonly string[] {
  const known = others instanceof Set ? others : new Set(others)
  return paths.filter((path) => !known.has(path))
}

function inOrder(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].toSorted()
}

/** What to watch for changes. Paths are absolute. */
export interface WatchTargets {
  /** Existing folders; their subfolders are not included. */
  readonly folders: ReadonlySet<string>
  /** The ones among them in which every entry counts. */
  readonly listed: ReadonlySet<string>
  /** Entries of the other folders that count; they may not exist. */
  readonly entries: ReadonlySet<string>
}

/** Everything that has to be watched to notice any change to a plan. */
export function targetsOf({ files }: WatchPlan, { folders: lists }: Pick<PlanComparison, 'folders'>): WatchTargets {
  const listed = new Set(lists.filter(isFolder))
  const entries = new Set<string>()
  for (const path of files.keys()) {
    entries.add(nearest(path))
    if (isLink(path)) entries.add(nearest(realPath(path)))
  }
  // the top folder of a list may be removed and created again
  for (const folder of lists) if (!listed.has(dirname(folder))) entries.add(nearest(folder))
  return { folders: new Set([...listed, ...[...entries].map((entry) => dirname(entry))]), listed, entries }
}

/** The path, or its topmost missing ancestor; the parent of the result exists. */
function nearest(path: string): string {
  const folder = dirname(path)
  return folder === path || isFolder(folder) ? path : nearest(folder)
}

/** Whether a change to this path is relevant. */
export function isRelevant(path: string, { listed, entries }: WatchTargets): boolean {
  return entries.has(path) || listed.has(path) || listed.has(dirname(path))
}
