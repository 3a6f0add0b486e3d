import { readFileSync, appendFileSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { realPath, replaceFile } from '../base/files.ts'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { safeJson } from '../base/terminal-text.ts'
import { findWorkspace, type Surroundings } from '../config/locate.ts'
import { readRunReport } from '../report/read-report.ts'
import type { Report } from '../report/report.ts'
import type { Paint } from '../render/style.ts'
import type { RunReport } from '../wiring/conduct.ts'
import { type GlobalFlags, usageError } from './command.ts'
import type { CommandIo } from './io.ts'
import { checkTarget } from './result-file.ts'
import { withPlace } from './with-place.ts'

export const reportFormats = ['text', 'markdown', 'html', 'json'] as const

export type ReportFormat = (typeof reportFormats)[number]

const formatOfEnding: { readonly [ending: string]: ReportFormat } = {
  '.txt': 'text',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.json': 'json',
}

/** A file for a report, which can be written as far as that is known before a run. */
export interface ReportTarget {
  /** Absolute. */
  readonly file: string
  /** As it was given. */
  readonly shown: string
  readonly format: ReportFormat
}

/**
 * Checks where a report is to be written. `others`: files that have another purpose, by what they are.
 * @throws BatonError USAGE
 */
export function reportTarget(
  shown: string,
  {
    around,
    flag,
    format,
    others = {},
  }: {
    readonly around: Surroundings
    readonly flag: string
    readonly format?: ReportFormat | undefined
    readonly others?: { readonly [what: string]: string | undefined }
  },
): ReportTarget {
  const known = format ?? formatOfEnding[extname(shown).toLowerCase()]
  if (known === undefined) {
    const endings = Object.keys(formatOfEnding).join(', ')
    throw usageError(
      `${flag} ${shown}: the ending of the file decides the format`,
      `Name a file that ends in ${endings}.`,
    )
  }
  const named = resolve(around.cwd, shown)
  refuseEscapingLink(named, { within: findWorkspace(around), shown: `${flag} ${shown}` })
  const file = realPath(named)
  checkTarget(file, `${flag} ${shown}`)
  for (const [what, other] of Object.entries(others)) {
    if (other !== undefined && realPath(resolve(around.cwd, other)) === file)
      throw usageError(`${flag} ${shown} is ${what}`, 'Name another file.')
  }
  return { file, shown, format: known }
}

interface RunFiles {
  readonly file?: string | undefined
  readonly output?: string | undefined
  readonly record?: string | undefined
}

/**
 * Checks `--report` of a run, which must not be one of its other files.
 * @throws BatonError USAGE
 */
export function checkReport(shown: string, { file, output, record }: RunFiles, around: Surroundings): ReportTarget {
  const others = { 'the file being run': file, 'the file of --output': output, 'the file of --record': record }
  return reportTarget(shown, { around, flag: '--report', others })
}

/**
 * Reports a run that has just ended: to the file of `--report`, and to the summary of the CI step that it is part of.
 * @throws BatonError FILE_FAILED if a run that succeeded cannot be reported in the file
 */
export async function reportRun(
  { folder, exitCode }: Pick<RunReport, 'folder' | 'exitCode'>,
  flags: GlobalFlags & RunFiles & { readonly report?: string | undefined },
  { err, ...around }: Surroundings & Pick<CommandIo, 'err'>,
): Promise<void> {
  const warn = (text: string): void => (flags.json || flags.level === 'quiet' ? undefined : err(`${text}\n`))
  if (folder === undefined) {
    const message = `--report ${flags.report} was not written, because the run was not recorded`
    if (flags.report === undefined) return
    if (exitCode !== 0) return warn(message)
    throw new BatonError('FILE_FAILED', message, {
      hint: 'Set [runs] dir in your config file to a local folder that you can write to.',
    })
  }
  const report = await readReport(folder, { flags, workspace: findWorkspace(around) })
  const { GITHUB_STEP_SUMMARY: summary } = around.env
  const problem = summary ? await addToStepSummary(summary, report) : undefined
  if (problem !== undefined) warn(problem)
  if (flags.report === undefined) return
  try {
    await writeReport(checkReport(flags.report, {}, around), report)
  } catch (error) {
    if (exitCode === 0) throw error
    warn(messageOf(error))
  }
}

/** The report of the run in a folder, with commands for the place that the flags name. Secrets are shown by name. */
export function readReport(
  folder: string,
  { flags, workspace }: { readonly flags: Pick<GlobalFlags, 'chdir' | 'env' | 'config'>; readonly workspace: string },
): Promise<Report> {
  return readRunReport(folder, { workspace, command: (words) => `baton ${withPlace(words, flags)}` })
}

/** The text of a report. `json`: one object, indented. */
export async function reportText(
  report: Report,
  format: ReportFormat,
  {
    paint = (_, text) => text,
    lines = Number.POSITIVE_INFINITY,
  }: { readonly paint?: Paint; readonly lines?: number } = {},
): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('../report/report.ts')).textReport(report, { paint, lines })
    case 'markdown':
      return (await import('../report/markdown.ts')).markdownReport(report)
    case 'html':
      return (await import('../report/html.ts')).htmlReport(report)
    case 'json':
      return `${safeJson(report, 2)}\n`
  }
}

/**
 * Writes a report, atomically.
 * @throws BatonError FILE_FAILED
 */
export async function writeReport({ file, shown, format }: ReportTarget, report: Report): Promise<void> {
  const text = await reportText(report, format)
  try {
    replaceFile(file, text)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `the report ${shown} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Adds a report to the summary of a CI step, once. Returns a warning if that is not possible: what a run did does not
 * depend on it.
 */
export async function addToStepSummary(file: string, report: Report): Promise<string | undefined> {
  try {
    const text = await reportText(report, 'markdown')
    const before = readIfPresent(file)
    if (before.includes(text)) return undefined
    appendFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${text}`)
    return undefined
  } catch (error) {
    return `the report was not added to GITHUB_STEP_SUMMARY: ${messageOf(error)}`
  }
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
