import { dirname, join, resolve, sep } from 'node:path'
import { realPath } from '../base/files.ts'
import type { ReadLog, SourceEntry, SourcePart } from '../base/reads.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import type { EffectHook } from '../journal/effects.ts'
import type { RunJournal } from '../journal/journal.ts'
import {
  type ChangedByRun,
  hashOnDisk,
  type Source,
  sourceOf,
  sourceRecord,
  type StoredSource,
  type StoredSources,
  usesDisk,
} from './sources.ts'

/** Collects the sources of a run, and provides a resumed run with its stored ones. */
export interface SourceRecorder {
  readonly reads: ReadLog
  /**
   * To be called when the target is loaded. `start`: the sources of the target; `later`: what the run had read or
   * changed before it was resumed. From now on, sources are recorded in the journal, each content once.
   */
  readonly begin: (journal: Pick<RunJournal, 'note'>) => BegunSources
  /** Records which sources the effects of the run change. Paths in records are relative to the workspace. */
  readonly hook: (workspace: string) => EffectHook
}

interface BegunSources {
  readonly start: readonly Source[]
  readonly later: readonly (Source | ChangedByRun)[]
}

/**
 * One for each process that starts or resumes a run. While the target is loaded, stored sources are in their state at
 * the start of the run. From `begin` on they are in the state the run read last, unless they change on disk after that:
 * such changes are those of the run itself, and an agent that it writes is run as written. Without `stored`, everything
 * is read from disk.
 */
export function createStoredSources({ stored }: { readonly stored?: StoredSources | undefined } = {}): SourceRecorder {
  const found = new Map<string, Source>()
  const known = new Map<string, Known>()
  const finder = createPathFinder()
  const before = hashesOf(stored)
  let journal: Pick<RunJournal, 'note'> | undefined

  function lookUp(path: string): SourceEntry | undefined {
    if (journal === undefined) return entryOf(stored?.start.get(path))
    const source = stored?.later.get(path)
    if (source === undefined || 'changed' in source || !before.has(path)) return undefined
    if (before.get(path) === hashOnDisk(source)) return entryOf(source)
    before.delete(path)
    return undefined
  }

  function add(path: string, entry: SourceEntry, part: SourcePart): void {
    const last = journal === undefined ? found.get(path)?.entry : known.get(path)
    const wasFolder = last?.kind === 'folder' && entry.kind === 'folder'
    // a listed folder is more informative than one that only exists
    if (wasFolder && entry.names === undefined) return
    if (journal !== undefined) noteFound(sourceOf(path, entry, part), journal)
    else if (last === undefined || wasFolder) found.set(path, sourceOf(path, entry, part))
  }

  function noteFound(source: Source, to: Pick<RunJournal, 'note'>): void {
    if (known.get(source.path)?.hash === source.hash) return
    know(source)
    to.note(sourceRecord(source))
  }

  function know({ path, hash, entry: { kind } }: Source): void {
    finder.add(path)
    known.set(path, { hash, kind })
  }

  function knowChanged(path: string): void {
    finder.add(path)
    known.set(path, { hash: '', kind: 'changed' })
  }

  function noteChange(change: FileChangeRecord, workspace: string): void {
    for (const path of finder.touchedBy(change, workspace)) {
      before.delete(path)
      // already recorded, and not read again since
      if (known.get(path)?.kind === 'changed') continue
      knowChanged(path)
      journal?.note(sourceRecord({ path, changed: true }))
    }
  }

  return {
    reads: {
      file: () => {},
      prompt: () => {},
      list: () => {},
      sources: { stored: lookUp, found: add },
    },
    begin(target) {
      journal = target
      const start = [...found.values()]
      const later = [...(stored?.later.values() ?? [])].filter(
        (source) => 'changed' in source || found.get(source.path)?.hash !== source.hash,
      )
      for (const source of start) know(source)
      for (const source of later) {
        if ('changed' in source) knowChanged(source.path)
        else know(source)
      }
      found.clear()
      return { start, later }
    },
    hook: (workspace) => ({
      change(record, act) {
        // recorded first, because an interrupted change may have happened
        noteChange(record, workspace)
        act()
      },
    }),
  }
}

interface Known {
  readonly hash: string
  readonly kind: SourceEntry['kind'] | 'changed'
}

/** Current hashes at the paths of the sources: later differences are changes of the resumed run. */
function hashesOf(stored: StoredSources | undefined): Map<string, string> {
  const sources = [...(stored?.later.values() ?? [])]
  return new Map(sources.flatMap((source) => ('changed' in source ? [] : [[source.path, hashOnDisk(source)]])))
}

function entryOf(source: StoredSource | undefined): SourceEntry | undefined {
  return source === undefined || usesDisk(source) ? undefined : source.entry
}

/** Finds which of the added absolute paths a file change may affect. Accesses no files before the first change. */
function createPathFinder() {
  /** Paths by their real path, because changes name files by that. */
  const really = new Map<string, string>()
  const waiting: string[] = []

  return {
    add: (path: string): void => void waiting.push(path),
    /** The paths that are named, that are in a moved or removed folder, or that are folders with a new file. */
    touchedBy(change: FileChangeRecord, workspace: string): ReadonlySet<string> {
      for (const path of waiting.splice(0)) really.set(realPath(path), path)
      const touched = new Set<string>()
      for (const named of changedPaths(change)) {
        const changed = resolve(workspace, named)
        for (const at of withFolders(changed)) {
          const path = really.get(at)
          if (path !== undefined) touched.add(path)
        }
        if (ofOneFile.has(change.op)) continue
        for (const [at, path] of really) if (at.startsWith(join(changed, sep))) touched.add(path)
      }
      return touched
    },
  }
}

/** Changes of single files; others may be of whole folders. */
const ofOneFile: ReadonlySet<string> = new Set([
  'write',
  'append',
  'copy',
  'mkdir',
  'pack',
  'unpack',
  'split',
  'restore',
])

function changedPaths({ op, path, from, before, after }: FileChangeRecord): readonly string[] {
  if (op !== 'append' && op !== 'mkdir' && before === after) return []
  return [path, op === 'move' ? from : undefined].filter((name) => typeof name === 'string')
}

function withFolders(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [path] : [path, ...withFolders(folder)]
}
