import { join } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { statusAt } from './prints.ts'
import { isRelevant, type WatchTargets } from './plan.ts'

/** Notices that something may have changed. */
export interface Watcher {
  /** Watches these targets from now on. Resolves once active; earlier changes may have been missed. */
  readonly follow: (targets: WatchTargets) => Promise<void>
  readonly close: () => Promise<void>
}

export interface WatcherOptions {
  /** Called for every relevant change, possibly several times. */
  readonly onChange: () => void
  /** Called when some changes may go unnoticed. */
  readonly onProblem: (error: unknown) => void
}

/**
 * Watches folders with chokidar, without their subfolders. `CHOKIDAR_USEPOLLING=1` polls, for file systems that report
 * no changes. Only wakes up the session, which finds out by comparison what has changed.
 */
export function openWatcher({ onChange, onProblem }: WatcherOptions): Watcher {
  let targets: WatchTargets = { folders: new Set(), listed: new Set(), entries: new Set() }
  let open: readonly FSWatcher[] = []
  /** Watched folders with an identity, which differs for a new folder at the same path. */
  let known = new Map<string, string>()

  function notice(path: string): void {
    if (isRelevant(path, targets)) onChange()
  }

  async function begin(paths: readonly string[]): Promise<FSWatcher> {
    const watched = new Set(paths)
    const watcher = watch([...paths], {
      depth: 0,
      ignoreInitial: true,
      ignored: (path) => !watched.has(path) && !targets.entries.has(path),
    })
    watcher.on('error', onProblem)
    watcher.on('all', (_event, path) => notice(path))
    // `all` ignores files whose timestamp has not changed, and entries that did not exist at the start
    watcher.on('raw', (_event, name, details) => notice(pathOf(name, details)))
    await new Promise<void>((resolve) => watcher.once('ready', resolve))
    return watcher
  }

  async function close(): Promise<void> {
    await Promise.all(open.map((watcher) => watcher.close()))
    open = []
    known = new Map()
  }

  return {
    async follow(next) {
      const added = [...next.entries].filter((entry) => !targets.entries.has(entry) && statusAt(entry) !== undefined)
      targets = next
      const wanted = new Map([...next.folders].map((folder) => [folder, identityOf(folder)]))
      const fresh = [...wanted].filter(([folder, identity]) => known.get(folder) !== identity)
      // watchers of the same path share a system handle, even if the folder there was replaced
      const isStale = fresh.some(([folder]) => known.has(folder))
      const isOvergrown = known.size > 2 * wanted.size + 100 || open.length > 50
      if (isStale || isOvergrown) await close()
      // a polled folder does not report writes to files that already existed
      open.at(-1)?.add(added)
      const missing = [...wanted.keys()].filter((folder) => known.get(folder) !== wanted.get(folder))
      if (missing.length === 0) return
      open = [...open, await begin(missing)]
      known = new Map([...known, ...wanted])
    },
    close,
  }
}

/** A raw event names the entry for a folder, the file for a file, and the whole path when polling. */
function pathOf(name: unknown, details: unknown): string {
  const watched = typeof details === 'object' && details !== null && 'watchedPath' in details ? details.watchedPath : ''
  if (typeof watched !== 'string' || watched === '') return String(name)
  if (typeof name !== 'string') return watched
  return statusAt(watched)?.isFile() === true ? watched : join(watched, name)
}

function identityOf(folder: string): string {
  const status = statusAt(folder)
  return status === undefined ? 'gone' : `${status.dev} ${status.ino} ${status.birthtimeNs}`
}
