import { entryStatus } from '../base/entries.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { isMergeable, mergeTexts, type MergedText, type Texts } from '../base/merge-texts.ts'
import { readRegularFile } from '../base/regular-file.ts'
import type { RunContext } from '../event/context.ts'
import type { EntryState, Stretch } from './changes.ts'
import { bytesOf, type Contents } from './contents.ts'

/** What a file holds when the changes of a run are taken out of it and later ones stay. */
export type Merge = MergedText

/**
 * Takes what a run did out of a text file (absolute path) that somebody has changed since, or in between: a three-way merge
 * for each stretch, from the last one back.
 */
export async function mergeBack(
  stretches: readonly Stretch[],
  target: string,
  { contentOf }: Contents,
  { services }: RunContext,
): Promise<Merge | { readonly why: string }> {
  if (entryStatus(target)?.isFile() !== true) return { why: 'it has changed since the run, and is no file now' }
  let merged: Merge = { bytes: readRegularFile(target), conflicts: 0 }
  const textOf = (state: EntryState | undefined): Buffer | string => {
    if (state?.kind !== 'file') return 'it has changed since the run, and was made, deleted or moved by it'
    const content = contentOf(state)
    if (content.kind === 'none') return content.why
    const bytes = bytesOf(content)
    return isMergeable(bytes) ? bytes : 'it has changed since the run, and is no text that could be merged'
  }
  for (const { first, left } of stretches.toReversed()) {
    const [before, after] = [textOf(first), textOf(left.at(-1))]
    if (typeof before === 'string') return { why: before }
    if (typeof after === 'string') return { why: after }
    if (!isMergeable(merged.bytes)) return { why: 'it has changed since the run, and is no text that could be merged' }
    const { bytes, conflicts } = await mergeOrFail({ mine: merged.bytes, base: after, theirs: before }, services)
    merged = { bytes, conflicts: merged.conflicts + conflicts }
  }
  return merged
}

const labels = { mine: 'present', base: 'after the run', theirs: 'before the run' }

/** @throws BatonError FILE_FAILED when git is not there, or fails */
async function mergeOrFail(texts: Texts, services: RunContext['services']): Promise<Merge> {
  try {
    return await mergeTexts(texts, labels, services)
  } catch (error) {
    services.signal.throwIfAborted()
    const hint = 'Without --merge files that have changed since are left alone.'
    throw new BatonError('FILE_FAILED', messageOf(error), { hint, cause: error })
  }
}
