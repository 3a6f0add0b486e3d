import { dirname, join, resolve } from 'node:path'
import { codeFrame } from '../base/code-frame.ts'
import { entryStatus } from '../base/entries.ts'
import { cutMessage, isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { isInside, escapingLink, realPath } from '../base/files.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import { placeText } from '../render/format.ts'
import { type Paint, paintDiff } from '../render/style.ts'

export interface ReportOptions {
  readonly cwd: string
  readonly paint: Paint
}

/** An error or warning to show. */
export interface Reported {
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly place?: SourcePlace | undefined
  /** The call sites that led to it, innermost first. */
  readonly trail?: readonly SourcePlace[]
  readonly hint?: string | undefined
  /** A unified diff. */
  readonly diff?: string | undefined
}

/** An error for people: what happened, where (with a code frame), and what to do. Ends with a newline. */
export function describeError(error: unknown, options: ReportOptions): string {
  const message = messageOf(error)
  if (!isBatonError(error)) return describeReported({ severity: 'error', message }, options)
  const { place, trail, hint, diff } = error
  return describeReported({ severity: 'error', message, place, trail, hint, diff }, options)
}

/** The same for an error or a warning. Control characters of foreign text never reach the terminal. */
export function describeReported(reported: Reported, { cwd, paint }: ReportOptions): string {
  const { severity, message, place, trail = [], hint, diff } = reported
  const title = paint([severity === 'error' ? 'red' : 'yellow', 'bold'], severity)
  const lines = [
    `${title}${paint('bold', ':')} ${harmless(cutMessage(nameAsShown(message, place, cwd)))}`,
    ...(place === undefined ? [] : describePlace(place, { cwd, paint })),
    ...trailLines(trail, cwd).map((line) => `  ${paint('dim', harmlessName(line))}`),
    ...(diff === undefined ? [] : paintDiff(diff.trimEnd().split('\n'), paint)),
    ...(hint === undefined || hint === '' ? [] : [`${paint('cyan', 'hint')}: ${harmless(hint)}`]),
  ]
  return `${lines.join('\n')}\n`
}

/** Gives the file of an error the same name in the message as below it. */
function nameAsShown(message: string, place: SourcePlace | undefined, cwd: string): string {
  return place === undefined ? message : message.replaceAll(place.file, placeText({ file: place.file }, cwd))
}

function describePlace(place: SourcePlace, { cwd, paint }: ReportOptions): readonly string[] {
  const { line, column, endLine, endColumn, text } = place
  const arrow = `  ${paint('dim', 'at')} ${harmlessName(cutMessage(placeText(place, cwd)))}`
  if (line === undefined || text === undefined) return [arrow]
  if (isLinkedIn(place.file, cwd))
    return [arrow, '    a link out of the folder leads there, so its content is not shown']
  const end = endLine === undefined || endColumn === undefined ? {} : { endLine, endColumn }
  return [arrow, codeFrame(text, { line, ...(column === undefined ? {} : { column, ...end }) })]
}

/** Whether a link in the project leads out of it: whoever put it there does not decide what is printed, in logs too. */
function isLinkedIn(file: string, cwd: string): boolean {
  const root = projectOf(realPath(cwd))
  return escapingLink(resolve(cwd, file), (real) => isInside(root, real)) !== undefined
}

/** The nearest folder upward with a mark of a workspace; else the folder itself. */
function projectOf(cwd: string): string {
  for (let folder = cwd; dirname(folder) !== folder; folder = dirname(folder)) {
    if (['.git', '.baton', '.aipack', 'baton.toml'].some((name) => entryStatus(join(folder, name)) !== undefined))
      return folder
  }
  return cwd
}

const shown = { first: 4, last: 2 } as const

/** The call sites that led to an error, one per line; if there are many, the middle is omitted. */
export function trailLines(trail: readonly SourcePlace[], cwd: string): readonly string[] {
  const lines = trail.map((place) => `called from ${placeText(place, cwd)}`)
  const hidden = lines.length - shown.first - shown.last
  if (hidden < 2) return lines
  return [...lines.slice(0, shown.first), `… ${hidden} more …`, ...lines.slice(-shown.last)]
}
