import { type BatonError, isBatonError, messageOf, rewordError, stopsRun } from '../base/error.ts'
import { displayPath } from '../base/files.ts'

/**
 * The text of another agent's error as a script sees it: prefixed with the line that failed, as Lua does for its own
 * errors.
 */
export function errorTextForScript(error: unknown, workspace: string): string {
  return isBatonError(error) ? lineText(error, workspace) + error.message : messageOf(error)
}

/** Another agent's error as a host function raises it: with that text. Errors that end the run are left unchanged. */
export function errorForScript(error: unknown, workspace: string): unknown {
  if (!isBatonError(error) || stopsRun(error) || lineText(error, workspace) === '') return error
  return rewordError(error, { message: errorTextForScript(error, workspace) })
}

/**
 * The message of an uncaught error for display next to its place: without the line that `errorForScript` put before the
 * message of its cause.
 */
export function textWithoutLine(message: string, cause: unknown, workspace: string): string {
  if (!isBatonError(cause)) return message
  const line = lineText(cause, workspace)
  if (!cause.message.startsWith(line) || !message.endsWith(cause.message)) return message
  return message.slice(0, -cause.message.length) + cause.message.slice(line.length)
}

function lineText({ place }: BatonError, workspace: string): string {
  return place?.line === undefined ? '' : `${displayPath(workspace, place.file)}:${place.line}: `
}
