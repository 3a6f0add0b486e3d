import { dirname, join } from 'node:path'
import { indexRun } from '../journal/run-index.ts'
import { runIds } from '../journal/find-run.ts'
import { glance, undoneRun } from '../journal/glance.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { SigningKey } from '../journal/signing.ts'
import { isOwnRun } from '../journal/own-run.ts'
import { openFileRecords } from '../journal/source.ts'
import { unendedEffects } from '../journal/uncertain.ts'
import { presentText, settleChange } from '../tool/change-state.ts'
import type { EntryState } from './changes.ts'
import { openChanges } from './open-changes.ts'

/** An undoing of a run that began before now. */
export interface EarlierUndo {
  readonly folder: string
  /** It was stopped before it came to its end. */
  readonly isUnfinished: boolean
}

/** The undoings of the run in `folder`, whose own folders stand beside it; the oldest last. */
export async function earlierUndos(folder: string, run: string, key: SigningKey): Promise<readonly EarlierUndo[]> {
  const runs = dirname(folder)
  const ids = runIds(runs)
  const found: EarlierUndo[] = []
  for (const id of ids.slice(0, Math.max(0, ids.indexOf(run)))) {
    const seen = await glance(join(runs, id))
    if (seen?.start === undefined || undoneRun(seen.start) !== run) continue
    if (!(await isOwnRun(join(runs, id), key))) continue
    found.push({ folder: join(runs, id), isUnfinished: seen.end === undefined && !seen.isRunning })
  }
  return found
}

/** Removes what undoings that were killed have left of files that they were about to put in place. */
export async function settleUndos(
  undos: readonly EarlierUndo[],
  { workspace, mask, key }: { readonly workspace: string; readonly mask: SecretMask; readonly key: SigningKey },
): Promise<void> {
  for (const { folder, isUnfinished } of undos) {
    if (!isUnfinished) continue
    const source = openFileRecords(folder, { mask, key })
    try {
      const index = await indexRun(source, { keeps: 'everything' })
      unendedEffects(index, {
        stateOf: (change, added) => settleChange(change, workspace, added),
        presentText: (change) => presentText(change, workspace),
      })
    } finally {
      source.close()
    }
  }
}

/** What undoings have left at each path, or were about to leave there. */
export async function leftBy(
  undos: readonly EarlierUndo[],
  mask: SecretMask,
  key: SigningKey,
): Promise<(path: string) => readonly EntryState[]> {
  const left = new Map<string, EntryState[]>()
  for (const { folder } of undos) {
    const { changes } = await openChanges(folder, mask, key)
    for (const { path, stretches } of changes) {
      // what stood there before a change whose end is unknown is not what it has made
      const made = stretches.flatMap((stretch) => stretch.left.slice(-1))
      left.set(path, [...(left.get(path) ?? []), ...made])
    }
  }
  return (path) => left.get(path) ?? []
}
