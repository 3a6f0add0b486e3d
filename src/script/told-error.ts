import { type BatonError, isBatonError, messageOf, rewordError, stopsRun } from '../base/error.ts'
import { displayPath } from '../base/files.ts'

/**
 * What a script is told of an error of another agent: the line that failed stands in front, as Lua puts it before its own
 * errors.
 */
export function toldText(error: unknown, workspace: string): string {
  return isBatonError(error) ? lineText(error, workspace) + error.message : messageOf(error)
}

/** The error of another agent as a host function raises it: with that text. Errors that end the run stay as they are. */
export function toldError(error: unknown, workspace: string): unknown {
  if (!isBatonError(error) || stopsRun(error) || lineText(error, workspace) === '') return error
  return rewordError(error, { message: toldText(error, workspace) })
}

/**
 * An uncaught message for people, who are shown the place: without the line that `toldError` put before the message of
 * its cause.
 */
export function untoldText(message: string, cause: unknown, workspace: string): string {
  if (!isBatonError(cause)) return message
  const line = lineText(cause, workspace)
  if (!cause.message.startsWith(line) || !message.endsWith(cause.message)) return message
  return message.slice(0, -cause.message.length) + cause.message.slice(line.length)
}

function lineText({ place }: BatonError, workspace: string): string {
  return place?.line === undefined ? '' : `${displayPath(workspace, place.file)}:${place.line}: `
}
