import { BatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import { type FileChangeRecord, makesFile } from '../event/effects.ts'

/** The files that a run itself has begun to change, as its records name them. */
interface ChangedFiles {
  readonly changed: ReadonlySet<string>
  /** Those that it made where nothing was. */
  readonly made: ReadonlySet<string>
  /** `request`: of a file change at `place`. @throws BatonError JOURNAL_FAILED for one without a path */
  readonly add: (place: string, request: unknown) => void
}

export function createChangedFiles(): ChangedFiles {
  const changed = new Set<string>()
  const made = new Set<string>()
  return {
    changed,
    made,
    add(place, request) {
      const change = fileChangeOf(place, request)
      for (const path of pathsOf(change)) changed.add(path)
      if (makesFile(change, (path) => made.has(path))) made.add(change.path)
    },
  }
}

/** The request of a file change. Cassettes come from anywhere, and their checksums say nothing about who made them. */
function fileChangeOf(place: string, request: unknown): FileChangeRecord {
  if (isObject(request) && typeof request['op'] === 'string' && typeof request['path'] === 'string') {
    return request as FileChangeRecord
  }
  throw new BatonError('JOURNAL_FAILED', `the record of ${place} is damaged: its file change has no path`)
}

function pathsOf(request: unknown): readonly string[] {
  if (!isObject(request)) return []
  const { path, from, to } = request
  return [path, from, to].filter((one) => typeof one === 'string')
}
