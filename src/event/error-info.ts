import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { StopSignal } from '../base/stop.ts'
import type { ErrorInfo } from './event.ts'

/** An error as events carry it: what happened, where, what to do. Never a stack. */
export function errorInfo(error: unknown): ErrorInfo {
  if (!isBatonError(error)) return { code: isAbort(error) ? 'ABORTED' : 'INTERNAL', message: messageOf(error) }
  const { place, trail, diff } = error
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(place === undefined ? {} : { file: place.file }),
    ...(place?.line === undefined ? {} : { line: place.line }),
    ...(place?.column === undefined ? {} : { column: place.column }),
    ...(trail.length === 0 ? {} : { chain: trail.map(lineInfo) }),
    ...(diff === undefined ? {} : { diff }),
  }
}

function lineInfo({ file, line, column }: SourcePlace): NonNullable<ErrorInfo['chain']>[number] {
  return { file, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) }
}

function isAbort(error: unknown): boolean {
  return error instanceof StopSignal || (error instanceof Error && error.name === 'AbortError')
}
