import { entryStatus } from '../base/entries.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { isMergeable, mergeTexts, type MergedText, type Texts } from '../base/merge-texts.ts'
import { readRegularFile } from '../base/regular-file.ts'
import type { RunContext } from '../event/context.ts'
import type { EntryState, Stretch } from './changes.ts'
import { bytesOf, type Contents } from './contents.ts'

/** The content of a file after the changes of a run were removed from it and later ones kept. */
export type Merge = MergedText

/**
 * Removes the changes of a run from a text file (absolute path) that was also changed by something else since, or in
 * between: one three-way merge per stretch, starting with the last.
 */
export async function mergeBack(
  stretches: readonly Stretch[],
  target: string,
  { contentOf }: Contents,
  { services }: RunContext,
): Promise<Merge | { readonly why: string }> {
  if (entryStatus(target)?.isFile() !== true) return { why: 'it has changed since the run and is no longer a file' }
  let merged: Merge = { bytes: readRegularFile(target), conflicts: 0 }
  const textOf = (state: EntryState | undefined): Buffer | string => {
    if (state?.kind !== 'file') return 'it has changed since the run, and the run created, deleted or moved it'
    const content = contentOf(state)
    if (content.kind === 'none') return content.why
    const bytes = bytesOf(content)
    return isMergeable(bytes) ? bytes : 'it has changed since the run and is not text that can be merged'
  }
  for (const { first, left } of stretches.toReversed()) {
    const [before, after] = [textOf(first), textOf(left.at(-1))]
    if (typeof before === 'string') return { why: before }
    if (typeof after === 'string') return { why: after }
    if (!isMergeable(merged.bytes)) return { why: 'it has changed since the run and is not text that can be merged' }
    const { bytes, conflicts } = await mergeOrFail({ mine: merged.bytes, base: after, theirs: before }, services)
    merged = { bytes, conflicts: merged.conflicts + conflicts }
  }
  return merged
}

const labels = { mine: 'present', base: 'after the run', theirs: 'before the run' }

/** @throws BatonError FILE_FAILED when git is missing or fails */
async function mergeOrFail(texts: Texts, services: RunContext['services']): Promise<Merge> {
  try {
    return await mergeTexts(texts, labels, services)
  } catch (error) {
    services.signal.throwIfAborted()
    const hint = 'Without --merge, files that have changed since the run are left alone.'
    throw new BatonError('FILE_FAILED', messageOf(error), { hint, cause: error })
  }
}
