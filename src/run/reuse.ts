import { emit, type RunContext } from '../event/context.ts'
import { placeText } from '../event/effects.ts'
import type { EarlierParts, Part } from '../event/part.ts'
import { openFileRecords } from '../journal/file-records.ts'
import { boundaryKey } from '../journal/fingerprint.ts'
import type { RunJournal } from '../journal/journal.ts'
import { indexRun, type RecordSource, type RunIndex } from '../journal/run-index.ts'
import { type AddedTexts, createAddedTexts } from './added-texts.ts'
import { changedInputs, type FinishedParts, finishedParts, isPart, type PartKey } from './finished-parts.ts'
import { filesLeft, type LeftFile, type LeftFiles } from './left-files.ts'
import type { SourceLog } from './source-log.ts'
import { type EarlierPart, verifyPart } from './verify-part.ts'

/** What one session of watching keeps of its runs, so that later ones do not pay for the same again (DESIGN 13 "Watch"). */
export interface ReuseSession {
  /** For the next run. `everything`: nothing of the runs before is read back, now or later. */
  readonly next: (options: { readonly log: SourceLog; readonly repeats: 'everything' | 'what changed' }) => Reuse
  readonly close: () => void
}

/** The part of a session that one run has. */
export interface Reuse {
  /** The same context, whose `pre` steps and tasks are read back where they are unchanged. */
  readonly around: (context: RunContext, recorded: Recorded) => RunContext
  /** Call when the run is over and its journal closed. Gives how many parts were read back, and done again. */
  readonly end: () => Promise<ReuseCounts>
}

interface Recorded {
  readonly journal: RunJournal
  /** Where the run is recorded; undefined: nowhere. */
  readonly folder: string | undefined
}

export interface ReuseCounts {
  readonly readBack: number
  readonly again: number
}

/** A run of the session that is over. */
interface EarlierRun {
  readonly parts: FinishedParts
  readonly uses: EarlierPart['uses']
  readonly left: LeftFiles
  readonly close: () => void
}

/** So many runs are kept open; older ones are forgotten. */
const mostRuns = 5

export function createReuseSession(): ReuseSession {
  /** The newest first. */
  let runs: readonly EarlierRun[] = []
  const added = createAddedTexts()

  function forget(forgotten: readonly EarlierRun[]): void {
    for (const { close } of forgotten) close()
    runs = runs.filter((run) => !forgotten.includes(run))
  }

  function next({ log, repeats }: Parameters<ReuseSession['next']>[0]): Reuse {
    if (repeats === 'everything') forget(runs)
    const relied = new Map<string, LeftFile>()
    const counts = { readBack: 0, again: 0 }
    let recorded: Recorded | undefined
    return {
      around(context, given) {
        recorded = given
        const { journal } = given
        return {
          ...context,
          effects: added.around(context.effects, context.workspace),
          earlier: createEarlierParts({ runs, journal, counts, relied, added }),
        }
      },
      async end() {
        const run = recorded && (await earlierRun(recorded, { log, relied }))
        if (run?.parts.identities.size === 0) run.close()
        else if (run !== undefined) {
          runs = [run, ...runs]
          forget(runs.slice(1).filter((older, index) => index + 1 >= mostRuns || isCovered(older, run)))
        }
        return counts
      },
    }
  }

  return { next, close: () => forget(runs) }
}

function isCovered({ parts }: EarlierRun, newer: EarlierRun): boolean {
  return [...parts.identities].every((identity) => newer.parts.identities.has(identity))
}

interface Earlier {
  readonly runs: readonly EarlierRun[]
  readonly journal: RunJournal
  readonly counts: { readBack: number; again: number }
  /** Gets the files that the parts that are read back rely on, as they were left. */
  readonly relied: Map<string, LeftFile>
  readonly added: AddedTexts
}

function createEarlierParts({ runs, journal, counts, relied, added }: Earlier): EarlierParts {
  return {
    async readBack<T>(part: Part<T>, context: RunContext) {
      if (!isPart(context.at)) return undefined
      const found = findPart(runs, placeText(context.at), boundaryKey(part.inputs ?? {}, journal.mask))
      if (found === undefined) return undefined
      const verified =
        found.changed.length > 0
          ? ({ kind: 'changed', reason: `its ${found.changed.join(' and ')} changed` } as const)
          : await verifyPart(part, { earlier: found.earlier, journal, added }, context)
      if (verified.kind === 'changed') {
        counts.again += 1
        emit(context, { type: 'again', label: part.label, reason: verified.reason })
        return undefined
      }
      counts.readBack += 1
      for (const [path, left] of verified.relied) relied.set(path, left)
      emit(context, { type: 'read_back', label: part.label })
      verified.commit()
      return { value: verified.value }
    },
  }
}

interface Found {
  readonly earlier: EarlierPart
  /** The inputs that are not what they were. */
  readonly changed: readonly string[]
}

function findPart(runs: readonly EarlierRun[], place: string, key: PartKey): Found | undefined {
  for (const { parts, uses, left } of runs) {
    const part = parts.find(place, key)
    if (part !== undefined) return { earlier: { ...part, uses, left }, changed: changedInputs(part.key, key) }
  }
  return undefined
}

/** A run that cannot be read leaves nothing to be read back. */
async function earlierRun(
  { journal, folder }: Recorded,
  { log, relied }: { readonly log: SourceLog; readonly relied: LeftFiles },
): Promise<EarlierRun | undefined> {
  if (folder === undefined) return undefined
  let source: RecordSource | undefined
  try {
    const opened = openFileRecords(folder, { mask: journal.mask })
    source = opened
    const index = await indexRun(opened, { use: { kind: 'everything' } })
    const left = new Map([...relied, ...filesLeft(log.ownFiles())])
    return { parts: finishedParts(index), uses: usesOf(index), left, close: () => opened.close() }
  } catch {
    // damaged, or gone with an older run: what was paid for is paid again
    source?.close()
    return undefined
  }
}

function usesOf({ records }: RunIndex): EarlierPart['uses'] {
  const uses = new Map<string, Map<string, string>>()
  for (const record of records('use')) {
    if (record.k !== 'use') continue
    const files = uses.get(record.p) ?? new Map<string, string>()
    uses.set(record.p, files.set(record.path, record.hash))
  }
  return uses
}
