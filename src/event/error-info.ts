import { cutMessage, isBatonError, messageOf, type SourcePlace, StopSignal } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { ErrorInfo, FileChange } from './event.ts'

/** An error as represented in events: what happened, where, and what to do. Never contains a stack trace. */
export function errorInfo(error: unknown): ErrorInfo {
  if (!isBatonError(error))
    return { code: isAbort(error) ? 'ABORTED' : 'INTERNAL', message: cutMessage(messageOf(error)) }
  const { code, reason, message, hint, place, trail, diff } = error
  return {
    code,
    ...defined({ reason }),
    message,
    ...defined({ hint, file: place?.file, line: place?.line, column: place?.column }),
    ...(trail.length === 0 ? {} : { chain: trail.map(lineInfo) }),
    ...defined({ diff }),
  }
}

function lineInfo({ file, line, column }: SourcePlace): NonNullable<ErrorInfo['chain']>[number] {
  return { file, ...defined({ line, column }) }
}

function isAbort(error: unknown): boolean {
  return error instanceof StopSignal || (error instanceof Error && error.name === 'AbortError')
}

/** Why one change of an answer failed. Adds the file name, unless the error already contains it. */
export function changeFailureText({
  file_path: path,
  error_msg: reason = '',
}: Pick<FileChange, 'file_path' | 'error_msg'>): string {
  return reason.includes(path) ? reason : `${path}: ${reason}`
}
