import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { BatonError, hasSystemCode, isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import type { OpenedRun, OpenParts, RunReport, Surroundings } from '../wiring/conduct.ts'
import { type CheckContext, expectedExit, unmetExpectations, type Verdict } from './expectations.ts'
import type { TestCase, TestedFile } from './load-tests.ts'
import { displayPath, isInside, readSourceFile, realPath } from '../base/files.ts'
import { defined, isObject, type Json, type JsonObject, parseSentJson } from '../base/json.ts'
import { variableFlags } from '../config/input-variables.ts'
import type { Listener } from '../event/bus.ts'
import { decorate, type EffectKind } from '../event/effects.ts'
import { createEffects } from '../journal/effects.ts'
import { isCassette } from '../journal/is-cassette.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { serverNames } from '../load/external-tools.ts'
import { refusingServers } from '../run/recorded-servers.ts'
import type { Target } from '../load/target.ts'
import { strategies } from '../strategies/strategies.ts'
import { targetInPlace } from '../run/isolation/placed-target.ts'
import { type StartOptions, startRun } from '../runner.ts'
import { replayRun } from '../wiring/replay.ts'
import { compareBytes } from '../base/byte-order.ts'
import { listFiles } from '../base/glob.ts'
import { sha256 } from '../base/hash.ts'
import { hashPrompt } from '../prompt/document.ts'

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
  const asking = createAsyncChecks({ test, file, copy, run }, options)
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
  refuseEscapingLink(cassette, { within: file.workspace })
  mkdirSync(dirname(cassette), { recursive: true })
  await options.writeCassette?.(cassette, run.record)
  return { test, calls, costUsd, failures, isRecorded: true }
}

/** A run with an unexpected exit code has no answer to compare. */
async function failuresOf(
  run: TestRun,
  { test, copy, ask }: { readonly test: TestCase; readonly copy: WorkspaceCopy; readonly ask: CheckContext },
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
function createAsyncChecks(
  tested: Tested,
  options: RunTestOptions,
): { readonly ask: CheckContext; readonly spent: () => number | null } {
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

/** Where the answers of a test come from: nowhere, a cassette, or live calls, which are recorded into `folder`. */
type TestSource =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'cassette'; readonly file: string }
  | { readonly kind: 'world'; readonly folder: string }

interface TestRunOptions extends Surroundings, Pick<StartOptions, 'text' | 'model' | 'outputSchema'> {
  /** The prompt file or agent in the copy of the workspace, absolute. With `text`, only a name. */
  readonly file: string
  readonly cwd: string
  readonly vars: readonly string[]
  readonly inputs: readonly Json[]
  readonly params: JsonObject
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  readonly source: TestSource
}

interface TestRun {
  readonly report: RunReport
  /** Number of model calls; retries and fallbacks count as one. */
  readonly calls: number
  /** Cost of the calls in US dollars; for a cassette, the cost when it was recorded. Null if unknown. */
  readonly costUsd: number | null
  /** The folder of its record, if the run was live. */
  readonly record?: string
}

/** Where the answers of a test come from. `recording`: the folder for the record of a live run. */
async function sourceOf(
  { cassette: file, placeOf }: Pick<TestCase, 'cassette' | 'placeOf'>,
  { workspace, recording }: { readonly workspace: string; readonly recording: string | undefined },
): Promise<TestSource> {
  if (file === undefined) return { kind: 'nothing' }
  const shown = displayPath(workspace, file)
  if (recording !== undefined) {
    if (!existsSync(file) || isCassette(file)) return { kind: 'world', folder: recording }
    throw new BatonError('USAGE', `${shown} exists and is not a cassette, so it is not overwritten`, {
      place: await placeOf(['cassette']),
      hint: 'Name a different file, or move this one away.',
    })
  }
  if (existsSync(file)) return { kind: 'cassette', file }
  throw new BatonError('USAGE', `cassette ${shown} does not exist`, {
    place: await placeOf(['cassette']),
    hint: 'Record it with baton test --record, which calls the models.',
  })
}

/** How long the recording of a test waits for a host: one that is overloaded may take requests soon, a failing one not. */
const patience = { patienceMs: 10 * 60_000, mostOutageMs: 0 }

/**
 * Runs a test's prompt file once.
 * @throws BatonError USAGE, JOURNAL_FAILED for a cassette that cannot be replayed
 */
async function runForTest(options: TestRunOptions): Promise<TestRun> {
  let calls = 0
  const listener: Listener = (event) => {
    if (event.type === 'item.started' && event.item.type === 'agent_message') calls += 1
  }
  const { source, file, cwd, vars, inputs, overrides } = options
  // in the workspace, so that records name it independently of the place of the copy
  const placed = { ...options, aipackBase: join(cwd, '.aipack', 'base') }
  const prepare = withParams(options)
  if (source.kind === 'cassette') {
    const { text, model, outputSchema } = options
    const given = { vars, overrides, ...defined({ text, model, outputSchema }), ...(inputs.length > 0 && { inputs }) }
    const replay = { ...placed, cwd, record: source, observations: 'live-files', given, prepare } as const
    const report = await replayRun(text === undefined ? file : undefined, replay, listener)
    return { report, calls, costUsd: report.recordedCostUsd }
  }
  let record: string | undefined
  const { signal = new AbortController().signal } = options
  const opening =
    source.kind === 'world'
      ? { runs: source.folder }
      : { open: async (target: Target, { mask }: OpenParts) => openWithoutCassette(target, { mask, signal }) }
  const onRecord = (folder: string): void => void (record = folder)
  const report = await startRun(file, { ...placed, ...opening, ...patience, prepare, onRecord }, listener)
  return { report, calls, costUsd: report.costUsd, ...defined({ record }) }
}

/** A test has its own copy of the workspace, which is not in a git repository: a work tree is of no use there. */
function withParams({ params }: Pick<TestRunOptions, 'params'>): (target: Target) => Target {
  return (target) =>
    target.kind === 'agent'
      ? target
      : targetInPlace({ ...target, spec: { ...target.spec, params: { ...target.spec.params, ...params } } }, strategies)
}

const whatIsDone: { readonly [kind in EffectKind]?: string } = {
  model: 'calls a model',
  http: 'sends an HTTP request',
  command: 'runs a command',
  mcp: 'calls a tool of an MCP server',
}

/**
 * For a test without a cassette: its run may only read and change files. It fails with the first other effect, even if
 * a script catches the error.
 */
function openWithoutCassette(
  { settings }: Target,
  options: { readonly mask: SecretMask; readonly signal: AbortSignal },
): OpenedRun {
  const journal = createMemoryJournal(options)
  const live = createEffects({
    journal,
    signal: options.signal,
    permission: { check: () => ({ kind: 'allow' }) },
    onSpent: () => {},
  })
  let refused: BatonError | undefined

  function refuse(what: string): never {
    refused ??= new BatonError('DIVERGED', `this test has no cassette, and its run ${what}`, {
      hint: 'Set cassette = "…", and record it with baton test --record.',
    })
    throw refused
  }

  const offline = decorate(live, () => ({
    async perform(_at, { kind, request }) {
      return refuse(`${whatIsDone[kind] ?? `has an outside effect (${kind})`}${named(request)}`)
    },
  }))
  return {
    journal,
    replay: {
      effects: offline,
      chooseModel: async (name) => refuse(`calls ${name === undefined ? 'a model' : `the model ${name}`}`),
      mcp: refusingServers(
        serverNames(settings).map((name) => ({ name, isTrusted: false })),
        () => refuse('calls an MCP server'),
      ),
      settle(error) {
        if (refused !== undefined && !(isBatonError(error) && error.code === 'DIVERGED')) throw refused
      },
    },
  }
}

function named(request: unknown): string {
  const name = isObject(request) ? (request['url'] ?? request['program'] ?? request['command']) : undefined
  return typeof name === 'string' ? `: ${name.slice(0, 200)}` : ''
}

/** A workspace for one test. Paths are absolute, links resolved. */
interface WorkspaceCopy {
  /** Contains all files of the test. */
  readonly folder: string
  readonly workspace: string
  /** Maps a path of the original workspace to its path in the copy. */
  readonly at: (path: string) => string
  /** The text of a file of the copy by its path in the workspace; undefined if it does not exist. */
  readonly read: (path: string) => string | undefined
  /** Sorted paths of the files that were created, changed or deleted since the copy was made. */
  readonly changed: () => readonly string[]
  readonly remove: () => void
}

/**
 * Creates a temporary folder in `within` with everything that a test needs. The caller removes it.
 * @throws BatonError OUTSIDE_WORKSPACE for files that are not in the workspace, FILE_UNREADABLE for a glob that matches
 * nothing
 */
async function copyWorkspace(
  test: Pick<TestCase, 'files' | 'placeOf'>,
  { workspace: original, needed, within }: Pick<TestedFile, 'workspace' | 'needed'> & { readonly within: string },
): Promise<WorkspaceCopy> {
  const folder = realpathSync(mkdtempSync(join(within, 'baton-prompt-test-')))
  const workspace = join(folder, 'workspace')
  const at = (path: string): string => join(workspace, relative(original, path))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const copy = (path: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true })
    cpSync(path, at(path), { recursive: true, dereference: true })
  }
  try {
    // marks the folder as a workspace; no glob matches it
    mkdirSync(join(workspace, '.aipack'), { recursive: true })
    for (const path of needed) copy(path)
    const { files } = test
    if (Array.isArray(files)) for (const path of await listed(test, files as readonly string[], original)) copy(path)
    else for (const [path, text] of Object.entries(files)) writeOwn(await ownPath(path, test, workspace), text)
  } catch (error) {
    remove()
    throw error
  }
  const before = contentsOf(workspace)
  const changed = (): readonly string[] => {
    const after = contentsOf(workspace)
    const paths = new Set([...before.keys(), ...after.keys()])
    return [...paths].filter((path) => before.get(path) !== after.get(path)).toSorted(compareBytes)
  }
  return { folder, workspace, at, changed, remove, read: (path) => readInside(resolve(workspace, path), workspace) }
}

/** The hash of every file by its path in the workspace. Ignores what a run adds to a prompt file below `====`. */
function contentsOf(workspace: string): ReadonlyMap<string, string> {
  const all = readdirSync(workspace, { recursive: true, withFileTypes: true, encoding: 'utf8' })
  return new Map(
    all.flatMap((entry): readonly [string, string][] => {
      const absolute = join(entry.parentPath, entry.name)
      const path = relative(workspace, absolute)
      if (!entry.isFile() || path.startsWith('.aipack/')) return []
      const bytes = readFileSync(absolute)
      return [[path, path.endsWith('.md') ? hashPrompt(bytes.toString('utf8')) : sha256(bytes)]]
    }),
  )
}

async function listed(
  { placeOf }: Pick<TestCase, 'placeOf'>,
  globs: readonly string[],
  workspace: string,
): Promise<readonly string[]> {
  const list = (patterns: readonly string[]) => listFiles(patterns, { baseDir: workspace, root: workspace })
  const found = list(globs)
  for (const [index, glob] of globs.entries()) {
    if (glob.startsWith('!') || found.some((file) => file.glob === index) || list([glob]).length > 0) continue
    throw new BatonError('FILE_UNREADABLE', `no file in the workspace matches ${JSON.stringify(glob)}`, {
      place: await placeOf(['files', index]),
      hint: 'Paths in "files" are relative to the workspace.',
    })
  }
  return found.map(({ absolute }) => absolute)
}

async function ownPath(path: string, { placeOf }: Pick<TestCase, 'placeOf'>, workspace: string): Promise<string> {
  const absolute = resolve(workspace, path)
  if (absolute !== workspace && isInside(workspace, realPath(absolute))) return absolute
  throw new BatonError('OUTSIDE_WORKSPACE', `the file ${JSON.stringify(path)} of a test is outside the workspace`, {
    place: await placeOf(['files', path]),
    hint: 'Paths in "files" are relative to the workspace.',
  })
}

function writeOwn(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** For a test, links that lead out of the copy do not exist. */
function readInside(path: string, workspace: string): string | undefined {
  if (!existsSync(path) || !isInside(workspace, realPath(path))) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasSystemCode(error, 'EISDIR')) return undefined
    throw error
  }
}
