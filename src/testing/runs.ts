import { join } from 'node:path'
import type { JsonObject } from '../base/json.ts'
import { conduct, type RunPlan, type RunReport, type Surroundings } from '../wiring/conduct.ts'
import type { Listener } from '../event/bus.ts'
import { newRunId } from '../journal/run-id.ts'
import { openRun } from '../journal/store.ts'
import { replayRun } from '../wiring/replay.ts'
import { decidingVariables, factsOf, type Invocation } from '../run/invocation.ts'
import { recordStart } from '../run/record.ts'
import { createStoredSources } from '../run/stored-sources.ts'
import type { Target } from '../run/target.ts'
import { runFolders } from '../wiring/run-folders.ts'
import { version } from '../version.ts'
import { openWithoutCassette } from './without-cassette.ts'

/** How a test is run: what answers in place of the world, or that the world is asked and recorded into `folder`. */
export type TestSource =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'cassette'; readonly file: string }
  | { readonly kind: 'world'; readonly folder: string }

export interface TestRunOptions extends Surroundings {
  /** The prompt file and its workspace: those of the copy. Absolute. */
  readonly file: string
  readonly cwd: string
  readonly vars: readonly string[]
  readonly params: JsonObject
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  readonly source: TestSource
}

export interface TestRun {
  readonly report: RunReport
  /** How often a model was asked; a call that was made again, or by another model in its place, counts once. */
  readonly calls: number
  /** What that did cost, in US dollars: of a cassette when it was recorded. Null when it is not known. */
  readonly costUsd: number | null
  /** The folder of its record, where the world was asked. */
  readonly record?: string
}

/** How long a test that is recorded waits for an overloaded host, as a person's run does (DESIGN 8). */
const patienceMs = 10 * 60_000

/**
 * Runs a test's prompt file once.
 * @throws BatonError USAGE, JOURNAL_FAILED for a cassette that cannot be replayed
 */
export async function runForTest(options: TestRunOptions): Promise<TestRun> {
  let calls = 0
  const listener: Listener = ({ type }) => void (calls += type === 'item.started' ? 1 : 0)
  const { source } = options
  if (source.kind !== 'cassette') {
    let record: string | undefined
    const plan = planOf(source, options, (folder) => void (record = folder))
    const report = await conduct(plan, options, listener)
    return { report, calls, costUsd: report.costUsd, ...(record === undefined ? {} : { record }) }
  }
  const { file, cwd, vars, overrides } = options
  const report = await replayRun(
    file,
    {
      ...options,
      cwd,
      record: source,
      observations: 'live-files',
      given: { vars, overrides },
      prepare: withParams(options),
    },
    listener,
  )
  return { report, calls, costUsd: report.recordedCostUsd }
}

function planOf(
  source: Exclude<TestSource, { readonly kind: 'cassette' }>,
  options: TestRunOptions,
  onRecord: (folder: string) => void,
): RunPlan {
  const { file, cwd, vars, overrides, env, home } = options
  const now = (): Date => new Date()
  const id = newRunId(now())
  const sources = createStoredSources()
  const invocation: Invocation = {
    file,
    cwd,
    inputs: [],
    onFiles: [],
    overrides,
    vars,
    patienceMs,
    env: decidingVariables(env),
  }
  return {
    id,
    invocation,
    sources,
    isResumed: false,
    prepare: withParams(options),
    async open(target, { mask }) {
      if (source.kind === 'nothing') {
        return openWithoutCassette({ mask, signal: options.signal ?? new AbortController().signal })
      }
      const folder = join(source.folder, id)
      const journal = await openRun({ folder, now, mask })
      const folders = runFolders({ workspace: target.workspace, home })
      recordStart(journal, target, { id, version, facts: { ...factsOf(invocation), folders }, sources })
      onRecord(folder)
      return { journal, folder }
    },
  }
}

/** `params` of a test are as if `[params]` said them. */
function withParams({ params }: Pick<TestRunOptions, 'params'>): (target: Target) => Target {
  return (target) =>
    target.kind === 'agent'
      ? target
      : { ...target, spec: { ...target.spec, params: { ...target.spec.params, ...params } } }
}
