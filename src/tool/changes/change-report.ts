import type { FileChange } from '../../event/event.ts'
import type { ChangeItem, ChangeStep } from './plan.ts'

/** The outcome of one change of an answer, with more detail than scripts get from `aip.udiffx`. */
export function reportOf(change: ChangeItem): FileChange {
  const { fromPath, isReplaced, isSuccess } = change
  return {
    ...fileChangeReport(change),
    ...(fromPath === undefined ? {} : { from_path: fromPath }),
    ...(isReplaced === true && isSuccess ? { replaced: true } : {}),
  }
}

/** The outcome of one change as JSON, with the keys that agents see in `file_changes`. */
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

/** The reports if no change is kept. `reason` is the error of changes that did not fail themselves. */
export function reports(steps: readonly ChangeStep[], reason: string): readonly FileChange[] {
  return steps.map(({ item }) => reportOf(item.isSuccess ? { ...item, isSuccess: false, error: reason } : item))
}
