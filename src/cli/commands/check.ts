import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { filesNamed } from '../../authoring/files-in-folder.ts'
import { createCheckParts } from '../../load/check/agent.ts'
import { checkFile } from '../../load/check/check.ts'
import { type Problem, problemKey, problemOf } from '../../load/check/problem.ts'
import { isBatonError } from '../../base/error.ts'
import { type ConfigOptions, loadTargetConfig } from '../../config/target-config.ts'
import { createMask } from '../../journal/secrets.ts'
import { packageRoot } from '../../package-root.ts'
import { countOf, placeText } from '../../render/format.ts'
import { version } from '../../version.ts'
import type { Flags } from '../command-specs.ts'
import { defined } from '../../base/json.ts'
import { harmless, harmlessName, safeJson } from '../../base/terminal-text.ts'
import { type CommandIo, jsonLine, openWorkplace } from '../io.ts'
import { describeReported, type ReportOptions } from '../report.ts'
import { strategies } from '../../strategies/strategies.ts'

/** `baton check FILE...`: reports all errors without running anything. Returns 2 if there is an error, else 0. */
export async function checkCommand(flags: Flags<'check'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, paint } = openWorkplace(flags, io)
  const builtInDir = join(packageRoot(), 'agents')
  const { format = flags.json ? 'json' : 'text', level } = flags
  const masks = new Map([['', createMask(env)]])
  const out = (text: string): void => io.out([...masks.values()].reduce((shown, mask) => mask.hide(shown), text))
  const parts = createCheckParts({ builtInDir })
  const reported = new Set<string>()
  const found: Problem[] = []
  let isWrong = false

  async function check(file: string): Promise<void> {
    const options = { cwd, env, home, file, builtInDir, strategies, flags: { overrides: flags.config } }
    const { problems: all, secrets } = await checkFile(options, parts)
    const key = JSON.stringify(secrets)
    if (!masks.has(key)) masks.set(key, createMask(env, secrets))
    const problems = show(all)
    if (format === 'text') out(verdict(file, { all, problems }, { level, paint }))
  }

  /** Shows those that are new and wanted, and returns them. */
  function show(all: readonly Problem[]): readonly Problem[] {
    // a problem of an agent that several files use is reported once
    const fresh = all.filter((problem) => !reported.has(problemKey(problem)))
    for (const problem of fresh) reported.add(problemKey(problem))
    const problems = level === 'quiet' ? fresh.filter(isError) : fresh
    found.push(...problems)
    isWrong ||= all.some(isError)
    const describe = describers[format]
    const { shown, rest } = format === 'text' ? withoutAlike(problems, cwd) : { shown: problems, rest: [] }
    for (const problem of shown) out(describe(problem, { cwd, paint }))
    for (const line of rest) out(`${line}\n`)
    return problems
  }

  const named = await filesNamed(flags.files, { cwd, env }, io.signal)
  const files = [...new Set(named.flatMap((one) => one.files))]
  try {
    for (const file of files) {
      io.signal.throwIfAborted()
      await check(file)
    }
    show(await checkTriggers({ cwd, env, home, flags: { overrides: flags.config } }))
  } finally {
    await parts.close()
  }
  if (format === 'sarif') out(`${safeJson(sarifLog(found, { cwd, version }), 2)}\n`)
  if (format === 'text' && found.length > 0 && level !== 'quiet') out(summary(found, files.length))
  return isWrong ? 2 : 0
}

/** The problems of the triggers of the workspace. Those of config files that cannot be read are found with each file. */
async function checkTriggers(options: ConfigOptions): Promise<readonly Problem[]> {
  try {
    const config = await loadTargetConfig(options)
    if (config.layers.every(({ values }) => values['trigger'] === undefined)) return []
    const { readTriggers } = await import('../../config/triggers.ts')
    const { problems } = await readTriggers(config, options)
    return problems.map(({ severity, ...issue }) =>
      problemOf(issue, { severity, file: issue.place?.file ?? '', trail: [] }),
    )
  } catch (error) {
    if (isBatonError(error)) return []
    throw error
  }
}

/** How many problems that differ only in their file are shown in full. */
const mostAlike = 3

/** How many problems of one file are shown at all; each shows a part of the file. */
const mostShown = 200

/**
 * Shows only the first of many problems that differ only in their file; the places of the others are one line. Of
 * too many problems, those that are warnings are left out first.
 */
function withoutAlike(all: readonly Problem[], cwd: string) {
  const errorsFirst = [...all.filter(isError), ...all.filter((problem) => !isError(problem))]
  const problems = all.length <= mostShown ? all : errorsFirst.slice(0, mostShown)
  const groups = new Map<string, Problem[]>()
  for (const problem of problems) {
    const { code, message, place } = problem
    const key = `${code} ${message.replaceAll(place.file, '')}`
    groups.set(key, [...(groups.get(key) ?? []), problem])
  }
  const left = [...groups.values()].map((group) => group.slice(mostAlike)).filter(({ length }) => length > 1)
  const leftOut = new Set(left.flat())
  const rest = left.map((group) => {
    const places = group.map(({ place }) => harmlessName(placeText(place, cwd)))
    return `${group.length} more of the same: ${places.join(', ')}`
  })
  const more = all.length - problems.length
  if (more > 0) rest.push(`${countOf(more, 'more problem')}; --format json shows all`)
  return { shown: problems.filter((problem) => !leftOut.has(problem)), rest }
}

function isError({ severity }: Problem): boolean {
  return severity === 'error'
}

const describers = {
  text: describeReported,
  json: (problem) => jsonLine(problemRecord(problem)),
  github: (problem) => `${githubLine(problem)}\n`,
  sarif: () => '',
} as const satisfies { readonly [format in Format]: (problem: Problem, options: ReportOptions) => string }

type Format = NonNullable<Flags<'check'>['format']>

function verdict(
  file: string,
  { all, problems }: { readonly all: readonly Problem[]; readonly problems: readonly Problem[] },
  { level, paint }: Pick<Flags<'check'>, 'level'> & Pick<ReportOptions, 'paint'>,
): string {
  if (all.some(isError))
    return problems.length > 0 ? '' : `${paint('red', 'not ok')} ${harmlessName(file)}: see the problems above\n`
  return level === 'quiet' ? '' : `${paint('green', 'ok')} ${harmlessName(file)}\n`
}

/** `2 errors, 1 warning in 3 files`. */
function summary(found: readonly Problem[], files: number): string {
  const errors = found.filter(isError).length
  const counts = { error: errors, warning: found.length - errors }
  const counted = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [countOf(count, name)]))
  return `${counted.join(', ')} in ${countOf(files, 'file')}\n`
}

/** The place of a problem for programs; JSON omits what is undefined. */
function placeRecord({ file, line, column, endLine, endColumn }: Problem['place']) {
  return column === undefined ? { file, line } : { file, line, column, endLine, endColumn }
}

/** A problem for programs. `chain`: the lines that led to it, innermost first. */
export function problemRecord({ severity, code, message, hint, place, trail }: Problem): object {
  const chain = trail.length === 0 ? undefined : trail.map(placeRecord)
  return { ...placeRecord(place), severity, code, message, hint: hint || undefined, chain }
}

/** A problem as a GitHub workflow command, which annotates the line: `::error file=a.md,line=2::what is wrong`. */
export function githubLine({ severity, code, message, hint, place }: Problem): string {
  const { file, line, column, endLine, endColumn } = placeRecord(place)
  // columns are allowed only if the range is on one line, and the end column is inclusive
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
  return harmless(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A'))
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** All problems as one SARIF 2.1.0 log. */
export function sarifLog(
  problems: readonly Problem[],
  { cwd, version: toolVersion }: { readonly cwd: string; readonly version: string },
): object {
  const codes = [...new Set(problems.map(({ code }) => code))].toSorted()
  const rules = codes.map((id) => ({ id, shortDescription: { text: ruleTexts[id] ?? id } }))
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'baton', version: toolVersion, rules } },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { [workingFolder]: { uri: `${pathToFileURL(cwd).href.replace(/\/$/, '')}/` } },
        results: problems.map((problem) => sarifResult(problem, codes)),
      },
    ],
  }
}

const workingFolder = 'WORKINGFOLDER'

function sarifResult({ severity, code, message, hint, place, trail }: Problem, codes: readonly string[]): object {
  const related = trail.map((step, id) => ({ id, ...sarifLocation(step), message: { text: 'called from here' } }))
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: severity,
    message: { text: hint === '' ? message : `${message}\n${hint}` },
    locations: [sarifLocation(place)],
    ...(related.length === 0 ? {} : { relatedLocations: related }),
  }
}

function sarifLocation(place: Problem['place']): object {
  const { file, line, column, endLine, endColumn } = placeRecord(place)
  const artifactLocation = isAbsolute(file)
    ? { uri: pathToFileURL(file).href }
    : { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: workingFolder }
  const region = defined({ startLine: line, startColumn: column, endLine, endColumn })
  return { physicalLocation: { artifactLocation, ...(line === undefined ? {} : { region }) } }
}

const ruleTexts: Readonly<Record<string, string>> = {
  PROMPT_SYNTAX: 'Invalid front matter, options or template',
  CONFIG_INVALID: 'An unknown key, a wrong type or value, an unknown model, or a setting that has no effect',
  NOT_AVAILABLE: 'Not available in this version',
  FILE_UNREADABLE: 'A file that is missing, too large, or not text',
  OUTSIDE_WORKSPACE: 'A path that leaves the workspace',
  AGENT_NOT_FOUND: 'An agent that does not exist',
  AGENT_AMBIGUOUS: 'An ambiguous agent name',
  AGENT_CYCLE: 'Agents that run each other in a cycle',
  SCRIPT_FAILED: 'An error in Lua code',
  MODULE_NOT_FOUND: 'A Lua module that does not exist',
  KEY_MISSING: 'A model whose key, or a trigger whose secret, is not set',
  UNTRUSTED: 'A guarded key in an untrusted file',
  USAGE: 'Invalid flags or arguments',
}
