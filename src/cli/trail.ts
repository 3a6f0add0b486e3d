import { isAbsolute } from 'node:path'
import type { SourcePlace } from '../base/error.ts'
import { displayPath } from '../base/files.ts'

/** `file:line:column` for people: relative to the folder they are in, as far as it is known. */
export function placeText({ file, line, column }: SourcePlace, cwd: string): string {
  return [isAbsolute(file) ? displayPath(cwd, file) : file, line, column].filter((part) => part !== undefined).join(':')
}

/** Lines of a long trail that are shown at its beginning and at its end. */
const shown = { first: 4, last: 2 } as const

/** The lines that led to an error, one each; of many the middle is left out. */
export function trailLines(trail: readonly SourcePlace[], cwd: string): readonly string[] {
  const lines = trail.map((place) => `called from ${placeText(place, cwd)}`)
  const hidden = lines.length - shown.first - shown.last
  if (hidden < 2) return lines
  return [...lines.slice(0, shown.first), `… ${hidden} more …`, ...lines.slice(-shown.last)]
}
