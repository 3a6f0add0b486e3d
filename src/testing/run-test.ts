import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BatonError, isBatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { isCassette } from '../journal/is-cassette.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import type { TestCase } from './case.ts'
import { expectedExit, unmetExpectations } from './expectations.ts'
import { failureOf, mapFailure, type TestFailure } from './failure.ts'
import type { TestedFile } from './load-tests.ts'
import { runForTest, type TestRun, type TestSource } from './runs.ts'
import { copyWorkspace, type WorkspaceCopy } from './workspace-copy.ts'

export interface RunTestOptions extends Surroundings {
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  /** Asks the world and writes the cassette: from the folder of a recorded run into a file. Left out: offline. */
  readonly writeCassette?: (file: string, folder: string) => Promise<void>
  /** Leaves the folder of the test where it is. */
  readonly keeps: boolean
  /** Where the folder of the test is made; left out: where the system keeps temporary files. */
  readonly within?: string
}

/** How a test ended; it has passed when there are no failures. */
export interface TestResult {
  readonly test: TestCase
  readonly failures: readonly TestFailure[]
  readonly calls: number
  /** In US dollars; null when it is not known. */
  readonly costUsd: number | null
  /** Whether the cassette was written. */
  readonly isRecorded: boolean
  /** The folder of the test, when it was left. */
  readonly folder: string | undefined
}

/**
 * Runs one test in a copy of the workspace (DESIGN 13). What goes wrong with it is a failure of the test.
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

interface OneTest {
  readonly test: TestCase
  readonly file: TestedFile
}

async function runIn(
  copy: WorkspaceCopy,
  { test, file }: OneTest,
  options: RunTestOptions,
): Promise<Omit<TestResult, 'folder'>> {
  const shownPath = (path: string): string => displayPath(file.workspace, path)
  const source = await sourceOf({ ...test, shownPath }, join(copy.folder, 'record'), options)
  const { vars, params } = test
  const run = await runForTest({ ...options, source, vars, params, file: copy.at(file.file), cwd: copy.workspace })
  const { report, calls, costUsd } = run
  const paths = pathsOf(copy, file)
  const map = (text: string): string => report.mask(paths(text))
  const failures = (await failuresOf(run, test, copy)).map((failure) => mapFailure(failure, map))
  const { cassette } = test
  // one that ended in another way than expected is no reason to lose the cassette that was there
  const isWorthIt = report.exitCode === expectedExit(test.expect) && options.signal?.aborted !== true
  if (cassette === undefined || run.record === undefined || !isWorthIt) {
    return { test, calls, costUsd, failures, isRecorded: false }
  }
  mkdirSync(dirname(cassette), { recursive: true })
  await options.writeCassette?.(cassette, run.record)
  return { test, calls, costUsd, failures, isRecorded: true }
}

interface Named extends Pick<TestCase, 'cassette' | 'placeOf'> {
  /** A path as people know it. */
  readonly shownPath: (path: string) => string
}

async function sourceOf(test: Named, folder: string, { writeCassette }: RunTestOptions): Promise<TestSource> {
  const { cassette: file, shownPath } = test
  if (file === undefined) return { kind: 'nothing' }
  if (writeCassette !== undefined) {
    if (existsSync(file) && !isCassette(file)) {
      throw new BatonError('USAGE', `${shownPath(file)} is there, and is no cassette: it is not overwritten`, {
        place: await test.placeOf(['cassette']),
        hint: 'Name another file, or move this one away.',
      })
    }
    return { kind: 'world', folder }
  }
  if (existsSync(file)) return { kind: 'cassette', file }
  throw new BatonError('USAGE', `there is no cassette ${shownPath(file)}`, {
    place: await test.placeOf(['cassette']),
    hint: 'Record it by baton test --record: that asks the models.',
  })
}

/** Why a test failed. A run that ended in another way than expected has no answer to look at. */
async function failuresOf(run: TestRun, test: TestCase, copy: WorkspaceCopy): Promise<readonly TestFailure[]> {
  const { report, calls, costUsd } = run
  const { error, exitCode, tasks } = report
  const difference = isBatonError(error) && error.code === 'DIVERGED' ? failureOf(error) : undefined
  if (difference !== undefined) {
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

const recordHint = 'If the change is meant, record the cassette again: baton test --record.'

/** Texts name files of the copy: people know the originals. */
function pathsOf({ workspace }: WorkspaceCopy, { workspace: original }: TestedFile): (text: string) => string {
  return (text) => text.replaceAll(workspace, original)
}
