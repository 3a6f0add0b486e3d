import { refuseLeavingLink } from '../base/leaving.ts'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import { createAsking, resultOf } from './asking.ts'
import { type Asking, expectedExit, unmetExpectations } from './expectations.ts'
import type { TestCase, TestedFile } from './load-tests.ts'
import { runForTest, sourceOf, type TestRun } from './runs.ts'
import { copyWorkspace, type WorkspaceCopy } from './workspace-copy.ts'

export interface RunTestOptions extends Surroundings {
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  /** Writes the cassette from the folder of the recorded run; the run is live then. Omitted: the run is offline. */
  readonly writeCassette?: (file: string, folder: string) => Promise<unknown>
  readonly keeps: boolean
  /** Parent of the test folder; default: the system's folder for temporary files. */
  readonly within?: string
}

/** The result of a test; it passed if there are no failures. */
export interface TestResult {
  readonly test: TestCase
  readonly failures: readonly TestFailure[]
  readonly calls: number
  /** In US dollars; null if unknown. */
  readonly costUsd: number | null
  readonly isRecorded: boolean
  readonly folder: string | undefined
}

/**
 * Runs one test in a copy of the workspace. Every error counts as a test failure.
 * @throws the reason of the signal once it is aborted, after cleaning up
 */
export async function runTest(test: TestCase, file: TestedFile, options: RunTestOptions): Promise<TestResult> {
  const { signal, keeps, within = tmpdir() } = options
  signal?.throwIfAborted()
  const nothing = { test, calls: 0, costUsd: 0, isRecorded: false, folder: undefined }
  let copy: WorkspaceCopy
  try {
    copy = await copyWorkspace(test, { ...file, within })
  } catch (error) {
    return { ...nothing, failures: [failureOf(error)] }
  }
  try {
    const result = await runIn(copy, { test, file }, options)
    signal?.throwIfAborted()
    return { ...result, folder: keeps ? copy.folder : undefined }
  } catch (error) {
    signal?.throwIfAborted()
    if (!isBatonError(error)) throw error
    const map = pathsOf(copy, file)
    return { ...nothing, failures: [mapFailure(failureOf(error), map)], folder: keeps ? copy.folder : undefined }
  } finally {
    if (!keeps) copy.remove()
  }
}

async function runIn(
  copy: WorkspaceCopy,
  { test, file }: { readonly test: TestCase; readonly file: TestedFile },
  options: RunTestOptions,
): Promise<Omit<TestResult, 'folder'>> {
  const { vars, params, inputs } = test
  const recording = options.writeCassette === undefined ? undefined : join(copy.folder, 'record')
  const source = await sourceOf(test, { workspace: file.workspace, recording })
  const run = await runForTest({
    ...options,
    source,
    vars,
    params,
    inputs,
    file: copy.at(file.file),
    cwd: copy.workspace,
  })
  const { report } = run
  const paths = pathsOf(copy, file)
  const map = (text: string): string => report.mask(paths(text))
  const asking = createAsking({ test, file, copy, run }, options)
  const failures = (await failuresOf(run, { test, copy, ask: asking.ask })).map((failure) => mapFailure(failure, map))
  const judged = asking.spent()
  const calls = run.calls
  const costUsd = run.costUsd === null || judged === null ? null : run.costUsd + judged
  const { cassette } = test
  // a run with an unexpected exit code does not replace the cassette
  const isWorthIt = report.exitCode === expectedExit(test.expect) && options.signal?.aborted !== true
  if (cassette === undefined || run.record === undefined || !isWorthIt) {
    return { test, calls, costUsd, failures, isRecorded: false }
  }
  refuseLeavingLink(cassette, { within: file.workspace })
  mkdirSync(dirname(cassette), { recursive: true })
  await options.writeCassette?.(cassette, run.record)
  return { test, calls, costUsd, failures, isRecorded: true }
}

/** A run with an unexpected exit code has no answer to compare. */
async function failuresOf(
  run: TestRun,
  { test, copy, ask }: { readonly test: TestCase; readonly copy: WorkspaceCopy; readonly ask: Asking },
): Promise<readonly TestFailure[]> {
  const { report, calls, costUsd } = run
  const { error, exitCode } = report
  if (isBatonError(error) && error.code === 'DIVERGED') {
    const difference = failureOf(error)
    return [test.cassette === undefined ? difference : { ...difference, hint: recordHint }]
  }
  const expected = expectedExit(test.expect)
  if (exitCode !== expected) {
    const ended = `the run ended with exit code ${exitCode}, not ${expected}`
    if (error === undefined) return [{ message: ended, place: test.place }]
    const failure = failureOf(error)
    return [{ ...failure, message: `${ended}: ${failure.message}` }]
  }
  const facts = { ...resultOf(report), exit: exitCode, calls, costUsd }
  const unmet = await unmetExpectations(test.expect, { ...facts, file: copy.read, changed: copy.changed, ask })
  return Promise.all(unmet.map(async ({ path, message, diff }) => ({ message, diff, place: await test.placeOf(path) })))
}

const recordHint = 'If the change is intended, record the cassette again: baton test --record.'

function pathsOf({ workspace }: WorkspaceCopy, { workspace: original }: TestedFile): (text: string) => string {
  return (text) => text.replaceAll(workspace, original)
}

/** Why a test failed. */
export interface TestFailure {
  readonly message: string
  readonly place?: SourcePlace | undefined
  readonly hint?: string | undefined
  /** A unified diff. */
  readonly diff?: string | undefined
}

function failureOf(error: unknown): TestFailure {
  const message = messageOf(error)
  if (!isBatonError(error)) return { message }
  const { place, hint, diff } = error
  return { message, place, hint, diff }
}

function mapFailure({ message, place, hint, diff }: TestFailure, map: (text: string) => string): TestFailure {
  return {
    message: map(message),
    place: place && { ...place, file: map(place.file) },
    hint: hint && map(hint),
    diff: diff && map(diff),
  }
}
