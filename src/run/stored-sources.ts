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

/** Collects what decides a run, and gives a run that goes on what it had before. */
export interface SourceRecorder {
  readonly reads: ReadLog
  /**
   * The target is loaded: `start` is what it was made of, `later` what the run had read or changed before on its way.
   * What is found from now on is noted in the journal, each content once.
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
 * One for each process that starts or resumes a run. While the target is loaded, stored sources are as the run began
 * with them. From `begin` on they are as it has read them last, unless they change on the disk from then on: that is what
 * the run itself does, and an agent it writes is run as it was written. Without `stored` all is read from the disk.
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
    // one that was listed says more than one that is there
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
      // said already, and not read again since
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
        // before it begins: a change that breaks off may have happened
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

/** What is at the paths of a run's sources now: what differs from it later was changed by the run that goes on. */
function hashesOf(stored: StoredSources | undefined): Map<string, string> {
  const sources = [...(stored?.later.values() ?? [])]
  return new Map(sources.flatMap((source) => ('changed' in source ? [] : [[source.path, hashOnDisk(source)]])))
}

function entryOf(source: StoredSource | undefined): SourceEntry | undefined {
  return source === undefined || usesDisk(source) ? undefined : source.entry
}

/** Finds which of some absolute paths a change of files may matter to. Nothing is looked at before there is a change. */
function createPathFinder() {
  /** Paths by where they really are: a change names files by that. */
  const really = new Map<string, string>()
  const waiting: string[] = []

  return {
    add: (path: string): void => void waiting.push(path),
    /** Those of the paths that are named, that lie in a folder which is moved or removed, or that a new file lies in. */
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
