import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename, join, resolve } from 'node:path'
import { createPool } from '../../base/concurrency.ts'
import { isBatonError } from '../../base/error.ts'
import { isFile } from '../../base/entries.ts'
import { displayPath, readSourceFile } from '../../base/files.ts'
import { filesInFolder } from '../../authoring/files-in-folder.ts'
import { firstText } from '../../authoring/inventory.ts'
import { reportOptions, findingsIn } from '../../history/report.ts'
import { listRuns } from '../../history/run-list.ts'
import { withView } from '../../history/run-view.ts'
import { createMask } from '../../journal/secrets.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { packageRoot } from '../../package-root.ts'
import { planRun } from '../../plan/plan-run.ts'
import type { Plan } from '../../plan/plan.ts'
import { strategies } from '../../strategies/strategies.ts'
import { loadTests } from '../../testing/load-tests.ts'
import { type LastResult, readResults, testedHash } from '../../testing/test-results.ts'
import { problemText, Refusal } from '../refusal.ts'
import { get, post, type Route } from './route.ts'
import { readChoices, readRunForm } from './run-form.ts'
import * as schemas from './schemas.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** How many of the last runs of a file are shown. */
const mostRuns = 60

/** What keeps a file from being planned or tested, in the words of `baton check`. */
interface Problem {
  readonly problem: string | null
}

interface FilePlan extends Problem {
  /** As `baton plan --json` prints it. */
  readonly plan: Plan | null
}

interface FileTests extends Problem {
  readonly tests: readonly {
    readonly name: string
    readonly line: number | null
    /** Of the last `baton test`; null: there is none. `isOld`: the file has changed since. */
    readonly result: (Omit<LastResult, 'hash'> & { readonly isOld: boolean }) | null
  }[]
}

interface FileRun extends RunSummary {
  /** The best score of its iterations; null: it has none. */
  readonly score: number | null
}

/** The routes for the prompt files and agents of the workspace: their list, what a run can be given, and the page of one. */
export function fileRoutes(served: ServedWorkspace): readonly Route[] {
  const { workspace, runs, totals, readIndex } = served
  // plans and tests read many files, and nothing else should wait for them
  const turns = createPool(1)
  const testing = createPool(1)

  async function lastRunOf(path: string): Promise<RunSummary | undefined> {
    const fits = ({ file }: { readonly file: string }): boolean => displayPath(workspace, file) === path
    for await (const last of listRuns(runs, { limit: 1, fits, index: readIndex(), totals })) return last
    return undefined
  }

  /** A text without front matter looks like any other, but not once it was run. @throws Refusal 404 */
  async function absolute(path: string, signal: AbortSignal): Promise<string> {
    const file = resolve(workspace, path)
    if ((await filesInFolder(workspace, served, signal)).includes(path)) return file
    if (isFile(file) && (await lastRunOf(path)) !== undefined) return file
    throw new Refusal(404, 'this workspace has no such prompt file', {
      hint: 'It may have been renamed or removed. A text without front matter counts as a prompt file once it was run.',
    })
  }

  return [
    get(
      {
        path: '/api/files',
        summary: 'The prompt files and agents of the workspace',
        query: schemas.noQuery,
        gives: schemas.fileList,
      },
      async ({ request: { signal } }) => {
        const files = (await filesInFolder(workspace, served, signal)).map(async (path) => {
          const file = join(workspace, path)
          return { path, name: basename(path), description: await firstText(file, () => readSourceFile(file)) }
        })
        return { files: await Promise.all(files) }
      },
    ),
    get(
      {
        path: '/api/file',
        summary: 'A prompt file or agent, and its last run',
        query: schemas.fileQuery,
        gives: schemas.fileText,
      },
      async ({ query: { path }, request: { signal } }) => {
        const file = await absolute(path, signal)
        return { path, text: readSourceFile(file), last: (await lastRunOf(path)) ?? null }
      },
    ),
    get(
      {
        path: '/api/form',
        summary: 'What a prompt file or agent can be given when it is run',
        query: schemas.fileQuery,
        gives: schemas.runForm,
      },
      ({ query: { path } }) => readRunForm(served, path),
    ),
    get(
      {
        path: '/api/choices',
        summary: 'Names of models and modes for a run',
        query: schemas.noQuery,
        gives: schemas.choices,
      },
      () => readChoices(served),
    ),
    get(
      {
        path: '/api/file/plan',
        summary: 'What a run of a prompt file would do and cost',
        query: schemas.fileQuery,
        gives: schemas.filePlan,
      },
      ({ query: { path }, request: { signal } }) =>
        turns.run(async () => readPlan(served, await absolute(path, signal), signal), signal),
    ),
    get(
      {
        path: '/api/file/tests',
        summary: 'The tests of a prompt file, with their results in the last baton test',
        query: schemas.fileQuery,
        gives: schemas.fileTests,
      },
      ({ query: { path }, request: { signal } }) =>
        turns.run(async () => readTests(served, await absolute(path, signal)), signal),
    ),
    post(
      {
        path: '/api/file/tests',
        summary: 'Runs the tests of a prompt file, as baton test does, and gives their results',
        body: schemas.fileBody,
        gives: schemas.fileTests,
        status: 200,
      },
      async ({ body: { path }, request: { signal } }) => {
        const file = await absolute(path, signal)
        await testing.run(() => runTests(served, file, signal), signal)
        return readTests(served, file)
      },
    ),
    get(
      {
        path: '/api/file/runs',
        summary: 'The last runs of a prompt file, with their scores',
        query: schemas.fileQuery,
        gives: schemas.fileRuns,
      },
      ({ query: { path }, request: { signal } }) =>
        turns.run(async () => ({ runs: await readRuns(served, await absolute(path, signal), signal) }), signal),
    ),
  ]
}

async function readPlan(served: ServedWorkspace, file: string, signal: AbortSignal): Promise<FilePlan> {
  const { workspace: cwd, env, home, shared } = served
  try {
    const { plan, secrets } = await planRun({
      cwd,
      env,
      home,
      file,
      builtInDir: join(packageRoot(), 'agents'),
      strategies,
      flags: { overrides: shared.overrides, vars: [], ...(shared.model === undefined ? {} : { model: shared.model }) },
      inputs: { texts: [], globs: [], cwd },
      signal,
    })
    const { hide } = createMask(env, secrets)
    return { plan: JSON.parse(hide(JSON.stringify(plan))) as Plan, problem: null }
  } catch (error) {
    return { plan: null, problem: fileProblem(error) }
  }
}

async function readTests(served: ServedWorkspace, path: string): Promise<FileTests> {
  const { workspace: cwd, env, home, shared } = served
  try {
    const { tests, file, workspace } = await loadTests(path, { cwd, env, home, overrides: shared.overrides })
    if (tests.length === 0) return { tests: [], problem: null }
    const [results, hash] = [readResults({ file, workspace }, served), testedHash(file)]
    return {
      problem: null,
      tests: tests.map(({ name, place }) => {
        const { hash: tested, ...result } = results[name] ?? { hash: '' }
        const kept = 'at' in result ? { ...result, isOld: tested !== hash } : null
        return { name, line: place.line ?? null, result: kept }
      }),
    }
  } catch (error) {
    return { tests: [], problem: fileProblem(error) }
  }
}

/** The longest time that the tests of a file may take, in milliseconds. */
const mostMs = 10 * 60_000
/** Characters of what `baton test` says about why it could not start. */
const mostOutput = 2_000

/**
 * Runs the tests of a file (absolute) with `baton test`, in a process of its own, which leaves their results in the state
 * folder. They call no model.
 * @throws Refusal 409 if they could not be run; what an invalid file is about is said by reading its tests
 */
async function runTests({ cwd, env, home, shared }: ServedWorkspace, file: string, signal: AbortSignal): Promise<void> {
  const overrides = shared.overrides.flatMap((override) => ['-c', override])
  const child = spawn(process.execPath, [join(packageRoot(), 'dist/bin/baton.js'), 'test', file, ...overrides], {
    cwd,
    env: { ...env, ...(home === '' ? {} : { HOME: home }) },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: mostMs,
  })
  const stop = (): void => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said = (said + piece).slice(0, mostOutput)))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    signal.throwIfAborted()
    if (code === 0 || code === testsFailed || code === wrongFile) return
    const [why = ''] = said.split('\n')
    throw new Refusal(409, `the tests could not be run${why === '' ? '' : `: ${why.replace(/^error: /, '')}`}`)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Exit codes of `baton test`. */
const testsFailed = 100
const wrongFile = 2

async function readRuns(served: ServedWorkspace, file: string, signal: AbortSignal): Promise<readonly FileRun[]> {
  const { runs, totals, workspace, readIndex } = served
  const path = displayPath(workspace, file)
  // only iterations are scored, by a command that the file names
  const hasScores = /\bscore\b/.test(readSourceFile(file))
  const fits = (run: { readonly file: string }): boolean => displayPath(workspace, run.file) === path
  const found: FileRun[] = []
  for await (const run of listRuns(runs, { limit: mostRuns, fits, index: readIndex(), totals })) {
    signal.throwIfAborted()
    found.push({ ...run, score: hasScores ? await bestScore(join(runs, run.id), run) : null })
  }
  return found
}

async function bestScore(folder: string, run: RunSummary): Promise<number | null> {
  try {
    const scores = await withView(folder, reportOptions, (view) => findingsIn(view, run, null).scores)
    const values = scores?.points.flatMap(({ score }) => (score === null ? [] : [score])) ?? []
    return values.length === 0 ? null : Math.max(...values)
  } catch {
    return null
  }
}

/** @throws what is no error of the file */
function fileProblem(error: unknown): string {
  if (!isBatonError(error)) throw error
  return problemText(error)
}
