import type { FileChange } from '../../event/event.ts'
import type { ChangeItem, ChangeStep } from './plan.ts'

/** What became of one change of an answer: with more than scripts of `aip.udiffx` get. */
export function reportOf(change: ChangeItem): FileChange {
  const { fromPath, isReplaced, isSuccess } = change
  return {
    ...fileChangeReport(change),
    ...(fromPath === undefined ? {} : { from_path: fromPath }),
    ...(isReplaced === true && isSuccess ? { replaced: true } : {}),
  }
}

/** What became of one change, as JSON in the words that agents see as `file_changes`. */
export function fileChangeReport({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): FileChange {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind: kind === 'SearchReplace' || kind === 'Replace' ? 'Patch' : kind === 'AppendLines' ? 'Append' : kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}

/** What is reported when nothing stays done. `reason` is said of changes that had no fault of their own. */
export function reports(steps: readonly ChangeStep[], reason: string): readonly FileChange[] {
  return steps.map(({ item }) => reportOf(item.isSuccess ? { ...item, isSuccess: false, error: reason } : item))
}
