import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BatonError, isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { isCassette } from '../journal/is-cassette.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import { expectedExit, unmetExpectations } from './expectations.ts'
import type { TestCase, TestedFile } from './load-tests.ts'
import { runForTest, type TestRun, type TestSource } from './runs.ts'
import { copyWorkspace, type WorkspaceCopy } from './workspace-copy.ts'

export interface RunTestOptions extends Surroundings {
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  /** Writes the cassette from the folder of the recorded run; the world is asked then. Left out: offline. */
  readonly writeCassette?: (file: string, folder: string) => Promise<unknown>
  readonly keeps: boolean
  /** Parent of the folder of the test; default: the system's folder for temporary files. */
  readonly within?: string
}

/** How a test ended; it has passed when there are no failures. */
export interface TestResult {
  readonly test: TestCase
  readonly failures: readonly TestFailure[]
  readonly calls: number
  /** In US dollars; null when it is not known. */
  readonly costUsd: number | null
  readonly isRecorded: boolean
  readonly folder: string | undefined
}

/**
 * Runs one test in a copy of the workspace. Every error is a failure of the test.
 * @throws the reason of the signal once it is aborted; nothing is left behind then
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
  const { vars, params } = test
  const recording = options.writeCassette === undefined ? undefined : join(copy.folder, 'record')
  const source = await sourceOf(test, { workspace: file.workspace, recording })
  const run = await runForTest({ ...options, source, vars, params, file: copy.at(file.file), cwd: copy.workspace })
  const { report, calls, costUsd } = run
  const paths = pathsOf(copy, file)
  const map = (text: string): string => report.mask(paths(text))
  const failures = (await failuresOf(run, test, copy)).map((failure) => mapFailure(failure, map))
  const { cassette } = test
  // a run with an unexpected end does not replace the cassette
  const isWorthIt = report.exitCode === expectedExit(test.expect) && options.signal?.aborted !== true
  if (cassette === undefined || run.record === undefined || !isWorthIt) {
    return { test, calls, costUsd, failures, isRecorded: false }
  }
  mkdirSync(dirname(cassette), { recursive: true })
  await options.writeCassette?.(cassette, run.record)
  return { test, calls, costUsd, failures, isRecorded: true }
}

/** `recording`: the folder for the record, when the world is asked. */
async function sourceOf(
  { cassette: file, placeOf }: TestCase,
  { workspace, recording }: { readonly workspace: string; readonly recording: string | undefined },
): Promise<TestSource> {
  if (file === undefined) return { kind: 'nothing' }
  const shown = displayPath(workspace, file)
  if (recording !== undefined) {
    if (!existsSync(file) || isCassette(file)) return { kind: 'world', folder: recording }
    throw new BatonError('USAGE', `${shown} exists and is not a cassette: it is not overwritten`, {
      place: await placeOf(['cassette']),
      hint: 'Name another file, or move this one away.',
    })
  }
  if (existsSync(file)) return { kind: 'cassette', file }
  throw new BatonError('USAGE', `there is no cassette ${shown}`, {
    place: await placeOf(['cassette']),
    hint: 'Record it with baton test --record, which calls the models.',
  })
}

/** A run with an unexpected end has no answer to compare. */
async function failuresOf(run: TestRun, test: TestCase, copy: WorkspaceCopy): Promise<readonly TestFailure[]> {
  const { report, calls, costUsd } = run
  const { error, exitCode, tasks } = report
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
  const answer = tasks.flatMap((task) => (task.status === 'done' ? [task.content] : [])).join('\n\n')
  const unmet = unmetExpectations(test.expect, { answer, exit: exitCode, calls, costUsd, file: copy.read })
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
