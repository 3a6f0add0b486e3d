import { BatonError, isBatonError } from '../../base/error.ts'
import { errorInfo } from '../../event/error-info.ts'
import { createSessionBudget } from '../../journal/session-budget.ts'
import { createMask } from '../../journal/secrets.ts'
import { createPaint } from '../../render/style.ts'
import { loadTests, type TestedFile } from '../../testing/load-tests.ts'
import { runTest, type RunTestOptions } from '../../testing/run-test.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'
import { costLimit } from '../present-run.ts'
import { describeError } from '../report.ts'
import { createTestWriter, type TestWriter } from '../test-text.ts'
import { writeCassetteFile } from './record.ts'

export interface TestFlags extends GlobalFlags {
  readonly files: readonly string[]
  /** Only tests with this in their name. */
  readonly name: string | undefined
  readonly record: boolean
  /** US dollars, as written. */
  readonly maxCost: string | undefined
  readonly keep: boolean
}

/** Exit code when tests failed (DESIGN 12). */
const testsFailed = 100
const wrongFile = 2

/**
 * `baton test FILE...` (DESIGN 13): the tests of all files one after the other. 0 when all passed, 100 when one failed, 2
 * when a file is wrong or has no test.
 */
export async function testCommand(flags: TestFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  if (flags.maxCost !== undefined && !flags.record) {
    throw new BatonError('USAGE', '--max-cost is for --record: tests cost nothing without it', {
      hint: 'Leave it out.',
    })
  }
  const options: RunTestOptions = {
    env,
    home: io.home,
    signal: io.signal,
    keeps: flags.keep,
    overrides: [...flags.config, ...costLimit(flags.maxCost)],
    openBudget: createSessionBudget(),
    ...(flags.record ? { writeCassette: writeCassetteFile } : {}),
  }
  const writer = createTestWriter(flags, { ...io, env })
  const loaded = await loadAll({ flags, cwd, env }, io)
  const files = loaded.flatMap((file) => (file === undefined ? [] : [picked(file, flags.name)]))
  if (flags.name !== undefined && files.length > 0 && files.every(({ tests }) => tests.length === 0)) {
    throw new BatonError('USAGE', `no test has ${JSON.stringify(flags.name)} in its name`, {
      hint: `Names are: ${names(loaded)}.`,
    })
  }
  if (flags.record) refuseShared(files)
  const hasFailed = await runAll(files, options, writer)
  if (loaded.includes(undefined)) return wrongFile
  return hasFailed ? testsFailed : 0
}

interface Loading {
  readonly flags: TestFlags
  readonly cwd: string
  readonly env: CommandIo['env']
}

/** The files in order; undefined in place of one that is wrong, once that was said. */
async function loadAll({ flags, cwd, env }: Loading, io: CommandIo): Promise<readonly (TestedFile | undefined)[]> {
  const paint = createPaint({ env, isTerminal: io.errIsTerminal })
  const mask = createMask(env)
  const files: (TestedFile | undefined)[] = []
  for (const name of flags.files) {
    io.signal.throwIfAborted()
    try {
      files.push(await loadTests(name, { cwd, env, home: io.home, overrides: flags.config }))
    } catch (error) {
      if (!isBatonError(error)) throw error
      files.push(undefined)
      io.err(mask.hide(describeError(error, { cwd: io.cwd, paint })))
      if (flags.json) io.out(mask.hide(`${JSON.stringify({ type: 'error', file: name, error: errorInfo(error) })}\n`))
    }
  }
  return files
}

function picked(file: TestedFile, name: string | undefined): TestedFile {
  const wanted = name?.toLowerCase() ?? ''
  return { ...file, tests: file.tests.filter((test) => test.name.toLowerCase().includes(wanted)) }
}

function names(files: readonly (TestedFile | undefined)[]): string {
  return files
    .flatMap((file) => file?.tests ?? [])
    .map((test) => JSON.stringify(test.name))
    .join(', ')
}

/** The second test would take away what the first one has recorded. @throws BatonError USAGE */
function refuseShared(files: readonly TestedFile[]): void {
  const seen = new Set<string>()
  for (const { cassette, name, place } of files.flatMap(({ tests }) => tests)) {
    if (cassette === undefined) continue
    if (seen.has(cassette)) {
      throw new BatonError('USAGE', `the test ${JSON.stringify(name)} has the cassette of another one`, {
        place,
        hint: 'To record them give each test a cassette of its own, or make one test of them.',
      })
    }
    seen.add(cassette)
  }
}

async function runAll(files: readonly TestedFile[], options: RunTestOptions, writer: TestWriter): Promise<boolean> {
  let hasFailed = false
  for (const file of files) {
    for (const test of file.tests) {
      const result = await runTest(test, file, options)
      hasFailed ||= result.failures.length > 0
      writer.test(file, result)
    }
  }
  writer.end(files)
  return hasFailed
}
