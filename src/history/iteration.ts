import { isObject } from '../base/json.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import { isIteration } from './place-kind.ts'
import { valueOf } from './recorded.ts'

/** What a run recorded about one finished iteration, as far as it is displayed. */
export interface IterationFacts {
  readonly success: boolean
  readonly files: readonly string[]
  readonly commit: string | undefined
  /** Identifies the state of the files after it; in a git repository, a tree id. */
  readonly state: string | undefined
  readonly score: number | undefined
}

/** Undefined for other parts, and for unfinished iterations. */
export function iterationFacts(
  { place, done }: { readonly place: string; readonly done?: Location | undefined },
  source: RecordSource,
): IterationFacts | undefined {
  if (done === undefined || !isIteration(place)) return undefined
  const ended = source.at(done)
  return ended.k === 'done' ? iterationIn(valueOf(ended.value, source)) : undefined
}

/** The same from the final value of an iteration. */
export function iterationIn(value: unknown): IterationFacts | undefined {
  const record = isObject(value) ? value['record'] : undefined
  if (!isObject(record)) return undefined
  const { success, changed_files: files, commit_id: commit, state, score } = record
  return {
    success: success === true,
    files: Array.isArray(files) ? files.map(String) : [],
    commit: typeof commit === 'string' ? commit : undefined,
    state: typeof state === 'string' ? state : undefined,
    score: typeof score === 'number' ? score : undefined,
  }
}

/** Short form: `2 files, commit 1a2b3c4d5, score 12`. */
export function iterationText({ files, commit, score }: IterationFacts): string {
  return [
    files.length === 1 ? '1 file' : `${files.length} files`,
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 9)}`]),
    ...(score === undefined ? [] : [`score ${score}`]),
  ].join(', ')
}
