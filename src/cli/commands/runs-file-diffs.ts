import { basename } from 'node:path'
import { noMask } from '../../journal/secrets.ts'
import { paintDiff } from '../../render/style.ts'
import { fileDiffs } from '../../undo/diff.ts'
import { openChanges } from '../../undo/open-changes.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import type { RunsContext } from './runs.ts'

/** `baton runs show RUN --diff`: what the run changed in files, from what it kept of them. Secrets stay hidden. */
export async function showFileDiffs(
  folder: string,
  flags: Flags<'runs'>,
  { print, paint, note }: RunsContext,
): Promise<number> {
  if (flags.place !== undefined) throw usageError('--place and --diff cannot be combined', 'Leave one of them out.')
  const { changes, contents } = await openChanges(folder, noMask)
  let count = 0
  for (const diff of fileDiffs(changes, contents)) {
    count += 1
    print({ run: basename(folder), ...diff }, () => `${paintDiff(diff.diff.trimEnd().split('\n'), paint).join('\n')}\n`)
  }
  if (count === 0) note(`run ${basename(folder)} changed no files\n`)
  return 0
}
