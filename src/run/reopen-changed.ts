import { isBatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { JournalRecord } from '../journal/record.ts'
import type { RunIndex } from '../journal/run-index.ts'
import { namesOf, placeOfNames } from '../journal/place-tree.ts'

type UseRecord = Extract<JournalRecord, { readonly k: 'use' }>

/**
 * `--use-current`: what has executed a file that is another one now is done again (DESIGN 11 "Sources"). What was
 * executed at a place before it was done afresh, or before the same file was executed there again, does not count.
 */
export function reopenChanged(index: RunIndex): void {
  const now = new Map<string, string | undefined>()
  for (const use of lastUses(index)) {
    if (!now.has(use.path)) now.set(use.path, hashOnDisk(use.path))
    if (now.get(use.path) !== use.hash && !isVoid(use, index)) index.tree.reopen(use.p)
  }
}

function lastUses({ records }: RunIndex): Iterable<UseRecord> {
  const last = new Map<string, UseRecord>()
  for (const record of records('use')) if (record.k === 'use') last.set(`${record.p}\n${record.path}`, record)
  return last.values()
}

/** Whether a boundary at or around the place was begun afresh since. */
function isVoid({ p, e, n }: UseRecord, { tree, source }: RunIndex): boolean {
  const names = namesOf(p)
  return names.some((_, index) => {
    const begin = tree.find(placeOfNames(names.slice(0, index + 1)))?.begin
    const record = begin === undefined ? undefined : source.at(begin)
    return record !== undefined && (record.e > e || (record.e === e && record.n > n))
  })
}

function hashOnDisk(path: string): string | undefined {
  try {
    return sha256(readSourceFile(path))
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}
