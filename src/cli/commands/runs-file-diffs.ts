import { basename } from 'node:path'
import { noMask } from '../../journal/secrets.ts'
import { paintDiff } from '../../render/style.ts'
import { fileDiffs } from '../../undo/diff.ts'
import { readLeftOut } from '../../undo/left-out.ts'
import { openChanges } from '../../undo/open-changes.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import type { RunsContext } from './runs.ts'

/**
 * `baton runs show RUN --diff`: what the run changed in files, computed from the contents it kept, and what it changed
 * only in work trees. Secrets stay masked.
 */
export async function showFileDiffs(
  folder: string,
  flags: Flags<'runs'>,
  { print, paint, note }: RunsContext,
): Promise<number> {
  if (flags.place !== undefined) throw usageError('--place and --diff cannot be combined', 'Leave one of them out.')
  const run = basename(folder)
  const painted = (diff: string) => (): string => paintDiff(diff.split('\n'), paint).join('\n')
  const { changes, contents } = await openChanges(folder, noMask)
  let count = 0
  for (const diff of fileDiffs(changes, contents)) {
    count += 1
    print({ run, ...diff }, painted(diff.diff))
  }
  for (const { place, reason, diff } of await readLeftOut(folder, noMask)) {
    count += 1
    note(`not in the workspace (${reason}):\n`)
    print({ run, kind: 'left_out', place, reason, diff }, painted(diff))
  }
  if (count === 0) note(`run ${run} changed no files\n`)
  return 0
}
