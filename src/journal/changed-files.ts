import { BatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import { type FileChangeRecord, makesFile } from '../event/effects.ts'

/** The files that a run has started to change, with the paths that its records use. */
interface ChangedFiles {
  readonly changed: ReadonlySet<string>
  /** Those that it created. */
  readonly made: ReadonlySet<string>
  /**
   * `request`: of a file change at `place`.
   * @throws BatonError JOURNAL_FAILED for one without a path
   */
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

/**
 * The request of a file change. It is validated because cassettes come from anywhere, and a checksum does not prove who
 * made them.
 */
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
