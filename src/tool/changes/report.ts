import type { FileChange } from '../../event/event.ts'
import type { ChangeItem } from './plan.ts'

/** What became of one change, as JSON in the words that agents see as `file_changes`. */
export function fileChangeReport({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): FileChange {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind: kind === 'SearchReplace' ? 'Patch' : kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}
