import { basename, join, dirname } from 'node:path'
import { undoneBy } from '../journal/undo-mark.ts'
import type { UndoneItem } from './perform.ts'
import { undoRun, type UndoOptions, type UndoReport } from './run.ts'

/** `refused`: a run had files that cannot be restored, and the files are as they were. */
export type SeveralUndone =
  | { readonly kind: 'undone'; readonly reports: readonly UndoReport[] }
  | { readonly kind: 'refused'; readonly run: string; readonly items: readonly UndoneItem[] }

/**
 * Restores what several runs have changed, or nothing. Runs that are undone already are left out.
 * @param folders of the runs, newest first
 * @throws BatonError as `undoRun` does; then the files are as they were
 */
export async function undoRuns(
  folders: readonly string[],
  options: Omit<UndoOptions, 'folder' | 'files' | 'merges' | 'dry'>,
): Promise<SeveralUndone> {
  const how = { ...options, files: [], merges: false }
  const reports: UndoReport[] = []

  /** Makes the changes again, those of the oldest run first. */
  async function takeBack(): Promise<void> {
    for (const { by } of reports.toReversed()) {
      const [first] = folders
      if (by !== undefined && first !== undefined)
        await undoRun({ ...how, folder: join(dirname(first), by), dry: false })
    }
  }

  try {
    for (const folder of folders) {
      if (undoneBy(folder) !== undefined) continue
      // an older run can only be looked at when the newer ones are undone
      const { items } = await undoRun({ ...how, folder, dry: true })
      const refused = items.filter(({ outcome }) => outcome === 'refused')
      if (refused.length > 0) {
        await takeBack()
        return { kind: 'refused', run: basename(folder), items: refused }
      }
      const report = await undoRun({ ...how, folder, dry: false })
      reports.push(report)
      const failed = report.items.filter(({ outcome }) => outcome === 'failed')
      if (failed.length > 0) {
        await takeBack()
        return { kind: 'refused', run: basename(folder), items: failed }
      }
    }
  } catch (error) {
    await takeBack()
    throw error
  }
  return { kind: 'undone', reports }
}
