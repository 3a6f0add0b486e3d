import type { ReadLog, SourceEntry, SourcePart } from '../base/reads.ts'
import type { Effects, FileChangeRecord } from '../event/effects.ts'
import type { RunJournal } from '../journal/journal.ts'
import { aroundChanges } from './around-changes.ts'
import { createPathFinder } from './changed-paths.ts'
import { hashOnDisk, usesDisk } from './changed-sources.ts'
import type { StoredSource, StoredSources } from './read-sources.ts'
import { type ChangedByRun, type Source, sourceOf, sourceRecord } from './source-records.ts'

/** Collects what decides a run, and gives a run that goes on what it had before (DESIGN 11 "Sources"). */
export interface SourceRecorder {
  /** To be handed to all that loads the target and its agents. */
  readonly reads: ReadLog
  /**
   * The target is loaded: `start` is what it was made of, `later` what the run had read or changed before on its way.
   * What is found from now on is noted in the journal, each content once.
   */
  readonly begin: (journal: Pick<RunJournal, 'note'>) => BegunSources
  /** The same effects, with what they change in sources noted. Paths in records are relative to the workspace. */
  readonly around: (effects: Effects, workspace: string) => Effects
}

interface BegunSources {
  readonly start: readonly Source[]
  readonly later: readonly (Source | ChangedByRun)[]
}

export interface RecorderOptions {
  /** What the run before has stored. Left out: all is read from the disk. */
  readonly stored?: StoredSources | undefined
}

/**
 * One for each process that runs or goes on with a run. While the target is loaded, stored sources are as the run began
 * with them. From `begin` on they are as it has read them last, unless they change on the disk from then on: that is what
 * the run itself does, and an agent it writes is run as it was written.
 */
export function createStoredSources({ stored }: RecorderOptions = {}): SourceRecorder {
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
    around: (effects, workspace) =>
      aroundChanges(effects, (planned) => {
        // before it begins: a change that breaks off may have happened
        noteChange(planned.record, workspace)
        return planned
      }),
  }
}

/** What was said last about a path. */
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
