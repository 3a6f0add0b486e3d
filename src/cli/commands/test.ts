import { basename, resolve } from 'node:path'
import { filesNamed } from '../../authoring/files-in-folder.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { refuseEscapingLink } from '../../base/link-escape.ts'
import { findWorkspace } from '../../config/locate.ts'
import { errorInfo } from '../../event/error-info.ts'
import { createMask } from '../../journal/secrets.ts'
import { harmless } from '../../base/terminal-text.ts'
import { countOf, placeText } from '../../render/format.ts'
import { createPaint, paintDiff } from '../../render/style.ts'
import { type JunitSuite, junitXml } from '../../testing/junit.ts'
import { loadTests, mayHaveTests, type TestCase, type TestedFile } from '../../testing/load-tests.ts'
import { runTest, type RunTestOptions, type TestFailure, type TestResult } from '../../testing/run-test.ts'
import { keepResults } from '../../testing/test-results.ts'
import { writeCassetteFile } from '../cassette-file.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, jsonLine, openWorkplace, type Surroundings, type Workplace } from '../io.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { describeError, type ReportOptions } from '../report.ts'
import { checkTarget } from '../result-file.ts'
import { createSessionBudget } from '../../journal/placed-budgets.ts'

const testsFailed = 100
const wrongFile = 2

/**
 * `baton test FILE...`: runs the tests of all files one after the other. Returns 0 if all passed, 100 if one failed, 2
 * if a file is invalid or has no test.
 */
export async function testCommand(flags: Flags<'test'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const { env, home } = workplace
  if (flags.maxCost !== undefined && !flags.record) {
    throw usageError('--max-cost needs --record: tests cost nothing without it', 'Leave it out.')
  }
  const options: RunTestOptions = {
    env,
    home,
    signal: io.signal,
    keeps: flags.keep,
    overrides: overridesOf(flags),
    openBudget: createSessionBudget(),
    ...(flags.record ? { writeCassette: (file, folder) => writeCassetteFile(file, folder, { env }) } : {}),
  }
  const junit = flags.junit === undefined ? undefined : resolve(workplace.cwd, flags.junit)
  if (junit !== undefined) checkTarget(junit, `--junit ${flags.junit}`)
  const loaded = await loadAll(flags, workplace, io)
  const valid = loaded.filter((file): file is TestedFile => !(file instanceof InvalidFile))
  const { name: wanted = '' } = flags
  const fits = ({ name }: TestCase): boolean => name.toLowerCase().includes(wanted.toLowerCase())
  const files = valid.map((file) => ({ ...file, tests: file.tests.filter(fits) }))
  if (files.length > 0 && files.every(({ tests }) => tests.length === 0)) {
    const names = valid.flatMap(({ tests }) => tests.map(({ name }) => JSON.stringify(name)))
    throw usageError(`no test has ${JSON.stringify(wanted)} in its name`, `Test names: ${names.join(', ')}.`)
  }
  if (flags.record) refuseShared(files)
  const suites: JunitSuite[] = loaded.flatMap((one) => (one instanceof InvalidFile ? [suiteOf(one)] : []))
  const failed = await runAll(files, { options, level: flags.level, suites }, { ...workplace, cwd: io.cwd })
  if (junit !== undefined) writeJunit(junit, suites, io)
  if (valid.length < loaded.length) return wrongFile
  return failed > 0 ? testsFailed : 0
}

/** A file without valid tests. */
class InvalidFile {
  readonly name: string
  readonly error: BatonError

  constructor(name: string, error: BatonError) {
    this.name = name
    this.error = error
  }
}

function suiteOf({ name, error }: InvalidFile): JunitSuite {
  const { message, place, hint } = error
  return { file: name, results: [], error: { message, place, hint } }
}

function writeJunit(
  file: string,
  suites: readonly JunitSuite[],
  around: Pick<CommandIo, 'cwd' | 'env' | 'home'>,
): void {
  const { cwd } = around
  refuseEscapingLink(file, { within: findWorkspace(around), shown: `--junit ${file}` })
  try {
    writeFileAtomic(file, junitXml(suites, cwd))
  } catch (error) {
    throw new BatonError('FILE_FAILED', `--junit ${file} cannot be written: ${messageOf(error)}`, {
      hint: 'Name a file in a folder that you can write to.',
      cause: error,
    })
  }
}

/** Loads the files in order; of folders, only files with tests. Reports invalid files. */
async function loadAll(
  flags: Flags<'test'>,
  { cwd, env, home }: Surroundings,
  io: CommandIo,
): Promise<readonly (TestedFile | InvalidFile)[]> {
  const paint = createPaint({ env, isTerminal: io.errIsTerminal })
  const mask = createMask(env)
  const files: (TestedFile | InvalidFile)[] = []
  for (const named of await filesNamed(flags.files, { cwd, env }, io.signal)) {
    const tested = named.isFolder ? named.files.filter((file) => mayHaveTests(resolve(cwd, file))) : named.files
    if (tested.length === 0) throw noTests(`no file in ${named.name} has a test`)
    for (const name of tested) {
      io.signal.throwIfAborted()
      try {
        const file = await loadTests(name, { cwd, env, home, overrides: flags.config })
        if (file.tests.length > 0) files.push(file)
        else if (!named.isFolder) throw noTests(`${name} has no test`, file.file)
      } catch (error) {
        if (!isBatonError(error)) throw error
        files.push(new InvalidFile(name, error))
        io.err(mask.hide(describeError(error, { cwd: io.cwd, paint })))
        if (flags.json) io.out(mask.hide(jsonLine({ type: 'error', file: name, error: errorInfo(error) })))
      }
    }
  }
  return files
}

function noTests(message: string, file?: string): BatonError {
  return new BatonError('USAGE', message, {
    hint: `Add one, ${placeOfTests(file)}: [[test]] with name = "…". See docs/testing.md.`,
    ...(file !== undefined && { place: { file } }),
  })
}

function placeOfTests(file = ''): string {
  if (file.endsWith('.lua')) return `in ${basename(file, '.lua')}.test.toml next to it`
  return file.endsWith('.aip') ? 'in the toml block of # Options' : 'in the front matter'
}

/** Refuses tests that share a cassette: the second would overwrite the record of the first. @throws BatonError USAGE */
function refuseShared(files: readonly TestedFile[]): void {
  const seen = new Set<string>()
  for (const { cassette, name, place } of files.flatMap(({ tests }) => tests)) {
    if (cassette === undefined) continue
    if (seen.has(cassette)) {
      throw new BatonError('USAGE', `the test ${JSON.stringify(name)} uses the cassette of another test`, {
        place,
        hint: 'To record them, give each test its own cassette, or merge the tests.',
      })
    }
    seen.add(cassette)
  }
}

/** Runs all tests and shows one line for each that passed, and the failures of the others. Returns how many failed. */
async function runAll(
  files: readonly TestedFile[],
  {
    options,
    level,
    suites,
  }: { readonly options: RunTestOptions; readonly level: Flags<'test'>['level']; readonly suites: JunitSuite[] },
  workplace: Workplace,
): Promise<number> {
  const { print } = workplace
  const { hide } = createMask(workplace.env)
  const counts = { passed: 0, failed: 0 }
  for (const file of files.filter(({ tests }) => tests.length > 0)) {
    const results: { result: TestResult; ms: number }[] = []
    const kept: Record<string, Parameters<typeof keepResults>[1][string]> = {}
    suites.push({ file: displayPath(workplace.cwd, file.file), results })
    for (const test of file.tests) {
      const start = performance.now()
      const result = await runTest(test, file, options)
      const ms = performance.now() - start
      results.push({ result, ms })
      kept[test.name] = keptResult(result, ms, hide)
      const hasPassed = result.failures.length === 0
      counts[hasPassed ? 'passed' : 'failed'] += 1
      print(testRecord(file.file, result), () =>
        level === 'quiet' && hasPassed ? '' : describeTest(result, { ...workplace, isVerbose: level === 'verbose' }),
      )
    }
    keepResults(file, kept, workplace)
  }
  const tested = files.filter(({ tests }) => tests.length > 0).length
  print({ type: 'summary', ...counts, files: tested }, () =>
    level === 'quiet' || tested === 0 ? '' : summary(counts, tested),
  )
  return counts.failed
}

/** For the page of the prompt file. */
function keptResult(
  { failures, calls, costUsd }: TestResult,
  ms: number,
  hide: (text: string) => string,
): Parameters<typeof keepResults>[1][string] {
  return {
    passed: failures.length === 0,
    at: new Date().toISOString(),
    ms: Math.round(ms),
    calls,
    cost_usd: costUsd,
    failures: failures.map(({ message }) => hide(message).slice(0, 2_000)),
  }
}

function describeTest(
  result: TestResult,
  { cwd, paint, isVerbose }: ReportOptions & { readonly isVerbose: boolean },
): string {
  const { test, failures, calls, costUsd, isRecorded, folder } = result
  const hasPassed = failures.length === 0
  const cost = costUsd === null ? 'cost unknown' : `$${costUsd.toFixed(4)}`
  const notes = [
    ...(hasPassed ? [] : [`${displayPath(cwd, test.place.file)}:${test.place.line ?? 1}`]),
    ...(isVerbose ? [`${countOf(calls, 'call')}, ${cost}`] : []),
    ...(isRecorded && test.cassette !== undefined ? [`recorded ${displayPath(cwd, test.cassette)}`] : []),
    ...(folder === undefined ? [] : [`kept ${folder}`]),
  ]
  const behind = notes.length === 0 ? '' : paint('dim', ` (${harmless(notes.join('; '))})`)
  const mark = hasPassed ? paint('green', '✓') : paint('red', '✗')
  const title = `${mark} ${harmless(test.name)}${behind}`
  return `${[title, ...failures.flatMap((failure) => describeFailure(failure, { cwd, paint }))].join('\n')}\n`
}

function describeFailure(
  { message, place, hint, diff }: TestFailure,
  { cwd, paint }: ReportOptions,
): readonly string[] {
  const lines = [
    ...message.split('\n').map(harmless),
    ...(place === undefined ? [] : [`${paint('dim', 'at')} ${harmless(placeText(place, cwd))}`]),
    ...(diff === undefined ? [] : paintDiff(diff.trimEnd().split('\n'), paint)),
    ...(hint === undefined || hint === '' ? [] : [`${paint('cyan', 'hint')}: ${harmless(hint)}`]),
  ]
  return lines.map((line) => `  ${line}`)
}

function summary({ passed, failed }: { readonly passed: number; readonly failed: number }, files: number): string {
  const counted = [...(passed === 0 ? [] : [`${passed} passed`]), ...(failed === 0 ? [] : [`${failed} failed`])]
  return `${counted.join(', ')} (${countOf(passed + failed, 'test')}, ${countOf(files, 'file')})\n`
}

function testRecord(file: string, { test, failures, calls, costUsd, isRecorded, folder }: TestResult): object {
  return {
    type: 'test',
    file,
    name: test.name,
    line: test.place.line,
    status: failures.length === 0 ? 'passed' : 'failed',
    calls,
    cost_usd: costUsd,
    recorded: isRecorded ? test.cassette : undefined,
    folder,
    failures: failures.map(({ message, place, hint, diff }) => {
      return { message, file: place?.file, line: place?.line, hint, diff }
    }),
  }
}
