import { entryOnDisk } from '../base/source-reader.ts'
import { hashOfEntry, type Source } from './source-records.ts'
import type { StoredSource, StoredSources } from './read-sources.ts'

/** A source that is not on the disk as a run has read it. */
export interface ChangedSource {
  /** Absolute. */
  readonly path: string
  /** `new`: there was nothing. */
  readonly change: 'changed' | 'gone' | 'new'
  /** What a run uses that goes on: `disk` where a secret in the stored text cannot be put back. */
  readonly used: 'stored' | 'disk'
}

/** What differs now, in order of paths. What the run has changed itself is not meant. Empty: the disk is as it was. */
export function changedSources({ start, later }: StoredSources): readonly ChangedSource[] {
  const changes = new Map<string, ChangedSource>()
  for (const source of [...start.values(), ...later.values()]) {
    if ('changed' in source) continue
    // what the run has changed, or read again since; in a prompt file it writes below what counts
    const last = source.part === 'whole' ? later.get(source.path) : undefined
    const isReplaced = last !== undefined && ('changed' in last || last.hash !== source.hash)
    const change = isReplaced ? undefined : changeOf(source)
    if (change !== undefined) changes.set(source.path, change)
  }
  return [...changes.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1))
}

function changeOf(source: StoredSource): ChangedSource | undefined {
  const { path, entry } = source
  if (hashOnDisk(source) === source.hash) return undefined
  const now = entryOnDisk(path, entry)
  const change = entry.kind === 'none' ? 'new' : now.kind === 'none' ? 'gone' : 'changed'
  return { path, change, used: usesDisk(source) ? 'disk' : 'stored' }
}

/** The hash of what is on the disk at the path of a source. */
export function hashOnDisk({ path, entry, part }: Source): string {
  return hashOfEntry(entryOnDisk(path, entry), part)
}

/** Whether the disk counts for a source: it is not whole, and the file is still there. */
export function usesDisk({ path, entry, isWhole }: StoredSource): boolean {
  return !isWhole && entryOnDisk(path, entry).kind === 'file'
}
