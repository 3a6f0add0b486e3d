import { isAbsolute } from 'node:path'
import { codeFrame } from '../base/code-frame.ts'
import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import type { Paint } from '../render/style.ts'

export interface ReportOptions {
  readonly cwd: string
  readonly paint: Paint
}

/** An error for people: what happened, where with a code frame, and what to do (DESIGN 12). Ends with a newline. */
export function describeError(error: unknown, { cwd, paint }: ReportOptions): string {
  const lines = [`${paint(['red', 'bold'], 'error')}${paint('bold', ':')} ${messageOf(error)}`]
  if (isBatonError(error)) {
    if (error.place !== undefined) lines.push(...describePlace(error.place, { cwd, paint }))
    if (error.hint !== undefined) lines.push(`${paint('cyan', 'hint')}: ${error.hint}`)
  }
  return `${lines.join('\n')}\n`
}

function describePlace({ file, line, column, text }: SourcePlace, { cwd, paint }: ReportOptions): readonly string[] {
  const position = [isAbsolute(file) ? displayPath(cwd, file) : file, line, column]
    .filter((part) => part !== undefined)
    .join(':')
  const arrow = `  ${paint('dim', 'at')} ${position}`
  if (line === undefined || text === undefined) return [arrow]
  return [arrow, codeFrame(text, { line, ...(column === undefined ? {} : { column }) })]
}
