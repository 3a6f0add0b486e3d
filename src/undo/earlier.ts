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

/** An earlier undo of a run. */
export interface EarlierUndo {
  readonly folder: string
  /** It was stopped before it finished. */
  readonly isUnfinished: boolean
}

/** The undos of the run in `folder`, newest first. Their own folders are siblings of it. */
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

/** Removes temporary files left behind by undos that were killed before they could rename them into place. */
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

/** The states that undos left at each path, or were about to leave there. */
export async function leftBy(
  undos: readonly EarlierUndo[],
  mask: SecretMask,
  key: SigningKey,
): Promise<(path: string) => readonly EntryState[]> {
  const left = new Map<string, EntryState[]>()
  for (const { folder } of undos) {
    const { changes } = await openChanges(folder, mask, key)
    for (const { path, stretches } of changes) {
      // if a change has no recorded outcome, `left` also has the state before it, which the undo did not make
      const made = stretches.flatMap((stretch) => stretch.left.slice(-1))
      left.set(path, [...(left.get(path) ?? []), ...made])
    }
  }
  return (path) => left.get(path) ?? []
}
