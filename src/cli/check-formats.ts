import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Problem } from '../check/check.ts'

/** A problem as programs get it. */
interface ProblemRecord {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly endLine?: number
  readonly endColumn?: number
  readonly severity: Problem['severity']
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The lines that led there, innermost first. */
  readonly chain?: readonly PlaceRecord[]
}

type PlaceRecord = Pick<ProblemRecord, 'file' | 'line' | 'column' | 'endLine' | 'endColumn'>

/** One problem as a line of JSON. */
export function jsonLine({ severity, code, message, hint, place, trail }: Problem): string {
  const record: ProblemRecord = {
    ...placeRecord(place),
    severity,
    code,
    message,
    ...(hint === '' ? {} : { hint }),
    ...(trail.length === 0 ? {} : { chain: trail.map((step) => placeRecord(step)) }),
  }
  return JSON.stringify(record)
}

function placeRecord({ file, line, column, endLine, endColumn }: Problem['place']): PlaceRecord {
  return {
    file,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(column === undefined || endLine === undefined ? {} : { endLine }),
    ...(column === undefined || endColumn === undefined ? {} : { endColumn }),
  }
}

/** One problem as a command of GitHub's workflows, which shows it at the line: `::error file=a.md,line=2::what is wrong`. */
export function githubLine({ severity, code, message, hint, place }: Problem): string {
  const { file, line, column, endLine, endColumn } = placeRecord(place)
  // columns are taken only where the range is on one line, and its end is the last column that is meant
  const isOneLine = endLine !== undefined && endLine === line
  const properties = Object.entries({
    file,
    line,
    endLine,
    col: endLine === undefined || isOneLine ? column : undefined,
    endColumn: isOneLine && endColumn !== undefined ? Math.max(column ?? 1, endColumn - 1) : undefined,
    title: code,
  })
  const written = properties.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${escapedProperty(String(value))}`],
  )
  return `::${severity} ${written.join(',')}::${escapedData(hint === '' ? message : `${message}\n${hint}`)}`
}

function escapedData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** All problems as one SARIF 2.1.0 log. */
export function sarifLog(
  problems: readonly Problem[],
  { cwd, version }: { readonly cwd: string; readonly version: string },
): object {
  const codes = [...new Set(problems.map(({ code }) => code))].toSorted()
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'baton',
            version,
            rules: codes.map((id) => ({ id, shortDescription: { text: ruleTexts[id] ?? id } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { [workingFolder]: { uri: `${pathToFileURL(cwd).href.replace(/\/$/, '')}/` } },
        results: problems.map((problem) => sarifResult(problem, codes)),
      },
    ],
  }
}

const workingFolder = 'WORKINGFOLDER'

function sarifResult({ severity, code, message, hint, place, trail }: Problem, codes: readonly string[]): object {
  const related = trail.map((step, id) => ({
    id,
    ...sarifLocation(placeRecord(step)),
    message: { text: 'called from here' },
  }))
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: severity,
    message: { text: hint === '' ? message : `${message}\n${hint}` },
    locations: [sarifLocation(placeRecord(place))],
    ...(related.length === 0 ? {} : { relatedLocations: related }),
  }
}

function sarifLocation({ file, line, column, endLine, endColumn }: PlaceRecord): object {
  const region = { startLine: line, startColumn: column, endLine, endColumn }
  return {
    physicalLocation: {
      artifactLocation: isAbsolute(file)
        ? { uri: pathToFileURL(file).href }
        : { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: workingFolder },
      ...(line === undefined
        ? {}
        : { region: Object.fromEntries(Object.entries(region).filter(([, value]) => value !== undefined)) }),
    },
  }
}

/** What each code means, in general. */
const ruleTexts: Readonly<Record<string, string>> = {
  PROMPT_SYNTAX: 'Front matter, options or a template that cannot be read',
  CONFIG_INVALID: 'An unknown key, a wrong type or value, an unknown model, or a setting that has no effect',
  NOT_AVAILABLE: 'Something this version does not have',
  FILE_UNREADABLE: 'A file that is missing, too large, or no text',
  OUTSIDE_WORKSPACE: 'A path that leaves the workspace',
  AGENT_NOT_FOUND: 'An agent that does not exist',
  AGENT_AMBIGUOUS: 'A name that two agents have',
  AGENT_CYCLE: 'Agents that run each other without end',
  SCRIPT_FAILED: 'A mistake in Lua code',
  MODULE_NOT_FOUND: 'A Lua module that does not exist',
  KEY_MISSING: 'A model whose key is not set',
  UNTRUSTED: 'A guarded key in a file that came with a folder',
  USAGE: 'Flags and arguments that do not fit',
}
