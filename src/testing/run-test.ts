import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { refuseLeavingLink } from '../base/leaving.ts'
import { BatonError, isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import type { RunReport, Surroundings } from '../wiring/conduct.ts'
import { type Asking, expectedExit, unmetExpectations, type Verdict } from './expectations.ts'
import type { TestCase, TestedFile } from './load-tests.ts'
import { runForTest, sourceOf, type TestRun } from './runs.ts'
import { copyWorkspace, type WorkspaceCopy } from './workspace-copy.ts'
import { readSourceFile } from '../base/files.ts'
import { isObject, type Json, type JsonObject, parseSentJson } from '../base/json.ts'
import { variableFlags } from '../config/input-variables.ts'

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

interface Tested {
  readonly test: TestCase
  readonly file: TestedFile
  readonly copy: WorkspaceCopy
  readonly run: TestRun
}

/** The result of a run, for expectations. */
function resultOf({ tasks, outputs }: Pick<RunReport, 'tasks' | 'outputs'>): {
  readonly answer: string
  readonly output: Json | undefined
} {
  const done = tasks.flatMap((task) => (task.status === 'done' ? [task] : []))
  const texts = outputs.map((output) => (typeof output === 'string' ? output : JSON.stringify(output)))
  const answer = [...done.map(({ content }) => content), ...texts].join('\n\n')
  const values = [...done.map(({ content, value }) => value ?? jsonOf(content)), ...outputs]
  return {
    answer,
    output: values.length === 1 ? values[0] : values.includes(undefined) ? undefined : (values as Json[]),
  }
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseSentJson(text)
  } catch {
    return undefined
  }
}

/** Checks for expectations that need more than a comparison; `spent` is the cost of judging in US dollars. */
function createAsking(
  tested: Tested,
  options: RunTestOptions,
): { readonly ask: Asking; readonly spent: () => number | null } {
  let spent: number | null = 0
  return {
    spent: () => spent,
    ask: {
      signal: options.signal ?? new AbortController().signal,
      schema: (name) => schemaIn(resolve(dirname(tested.file.file), name)),
      lua: (expression) => runExpression(expression, tested, options),
      async judge(criteria) {
        const { verdicts, costUsd } = await judge(criteria, tested, options)
        spent = spent === null || costUsd === null ? null : spent + costUsd
        return verdicts
      },
    },
  }
}

function schemaIn(file: string): JsonObject {
  const schema = jsonOf(readSourceFile(file))
  if (isObject(schema)) return schema as JsonObject
  throw new BatonError('CONFIG_INVALID', `the schema file ${file} does not contain a JSON object`, {
    place: { file },
    hint: 'Start with { "type": "object", "properties": { … } }.',
  })
}

/** Runs the expression as a separate agent, which may not read or call anything. */
async function runExpression(expression: string, { copy, run }: Tested, options: RunTestOptions): Promise<Json> {
  const cwd = join(copy.folder, 'expect')
  const file = join(cwd, 'expect.lua')
  mkdirSync(join(cwd, '.aipack'), { recursive: true })
  const names = ['answer', 'output', 'files', 'exit', 'calls']
  const values = names.map((name) => `input.${name}`).join(', ')
  writeFileSync(file, `local ${names.join(', ')} = ${values}\nreturn (${expression}\n)\n`)
  const { report, calls } = run
  const { answer, output = null } = resultOf(report)
  const files = Object.fromEntries(copy.changed().map((path) => [path, copy.read(path) ?? null]))
  const facts: Json = { answer, output, files, exit: report.exitCode, calls }
  const source = { kind: 'nothing' } as const
  const { report: ended } = await runForTest({ ...options, file, cwd, source, vars: [], params: {}, inputs: [facts] })
  if (ended.error !== undefined) throw ended.error
  return ended.outputs[0] ?? null
}

const judging = `+++
[input.criteria]
[input.result]
+++
You check the result of a program. For each criterion, in order, say whether the result meets it, and why in a few words. Judge by what is there, not by what may be meant.

# Criteria

{{input.criteria}}

# Result

{{input.result}}
`

function verdictSchema(count: number): JsonObject {
  const properties = { is_met: { type: 'boolean' }, reason: { type: 'string' } }
  const items = { type: 'object', properties, required: ['is_met', 'reason'], additionalProperties: false }
  const verdicts = { type: 'array', items, minItems: count, maxItems: count }
  return { type: 'object', properties: { verdicts }, required: ['verdicts'], additionalProperties: false }
}

/** Asks a model about the criteria, in a separate run with a cassette next to that of the test. */
async function judge(
  criteria: readonly string[],
  { test, copy, run }: Tested,
  options: RunTestOptions,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly costUsd: number | null }> {
  const cassette = test.cassette?.replace(/(?:\.cassette)?$/, '.judge.cassette')
  if (cassette === undefined) {
    throw new BatonError('USAGE', 'judge needs a cassette to record the verdict of the model', {
      place: await test.placeOf(['name']),
      hint: 'Set cassette = "…", and record it with baton test --record.',
    })
  }
  const { answer } = resultOf(run.report)
  const cwd = join(copy.folder, 'judge')
  mkdirSync(join(cwd, '.aipack'), { recursive: true })
  const recording = options.writeCassette === undefined ? undefined : join(copy.folder, 'judge-record')
  const source = await sourceOf({ cassette, placeOf: test.placeOf }, { workspace: dirname(cassette), recording })
  const { report, record, costUsd } = await runForTest({
    ...options,
    ...(test.judgeModel !== undefined && { model: test.judgeModel }),
    file: 'judge',
    text: judging,
    outputSchema: verdictSchema(criteria.length),
    vars: variableFlags({ criteria: criteria.map((one, index) => `${index + 1}. ${one}`).join('\n'), result: answer }),
    cwd,
    source,
    inputs: [],
    params: {},
  })
  if (report.error !== undefined) throw report.error
  if (record !== undefined) await options.writeCassette?.(cassette, record)
  const [task] = report.tasks
  const value = (task?.status === 'done' ? task.value : undefined) as
    | { readonly verdicts: readonly Verdict[] }
    | undefined
  if (value === undefined) throw new BatonError('TASK_FAILED', 'the judge model did not answer')
  return { verdicts: value.verdicts, costUsd }
}
