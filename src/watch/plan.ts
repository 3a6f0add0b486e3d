/** Something that a run has read, as it was then. */
export interface WatchedFile {
  /** What it held, as text that is equal for equal content; null: there was no file. */
  readonly print: string | null
  /** The same for what it holds now. */
  readonly look: () => string | null
}

/** What globs find. Absolute paths. */
export interface Listing {
  readonly files: readonly string[]
  /** Every folder that was looked into; some need not exist. */
  readonly folders: readonly string[]
}

export interface WatchedList {
  /** The files that the run has found. */
  readonly found: readonly string[]
  readonly look: () => Listing
}

/** What a run has read: the files by their absolute paths, and the lists by any name. */
export interface WatchPlan {
  readonly files: ReadonlyMap<string, WatchedFile>
  readonly lists: ReadonlyMap<string, WatchedList>
}

/** What has become of a plan. */
export interface Look {
  /** Paths that are not as they were read, in order. */
  readonly changed: readonly string[]
  /** Those of them that are not there any more. */
  readonly gone: readonly string[]
  /** Equal for two looks that saw the same. */
  readonly state: string
  /** Every folder that the lists looked into. */
  readonly folders: readonly string[]
}

const none: ReadonlySet<string> = new Set()

/**
 * Compares a plan with what is there now: a run starts only when something differs (DESIGN 13 "Watch"). Of the paths in
 * `held` nothing is seen.
 */
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

/** The same plan as if everything had been read now. */
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
