import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, isBatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Listener } from '../event/bus.ts'
import { decorate, type EffectKind } from '../event/effects.ts'
import { createEffects } from '../journal/effects.ts'
import { isCassette } from '../journal/is-cassette.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { serverNames } from '../load/other-tools.ts'
import { silentServers } from '../run/recorded-servers.ts'
import type { Target } from '../load/target.ts'
import { strategies } from '../strategies/strategies.ts'
import { targetInPlace } from '../run/isolation/placed-target.ts'
import { startRun, type StartOptions } from '../runner.ts'
import type { TestCase } from './load-tests.ts'
import type { OpenedRun, OpenParts, RunReport, Surroundings } from '../wiring/conduct.ts'
import { replayRun } from '../wiring/replay.ts'

/** Where the answers of a test come from: nowhere, a cassette, or live calls, which are recorded into `folder`. */
export type TestSource =
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

export interface TestRun {
  readonly report: RunReport
  /** Number of model calls; retries and fallbacks count as one. */
  readonly calls: number
  /** Cost of the calls in US dollars; for a cassette, the cost when it was recorded. Null if unknown. */
  readonly costUsd: number | null
  /** The folder of its record, if the run was live. */
  readonly record?: string
}

/** Where the answers of a test come from. `recording`: the folder for the record of a live run. */
export async function sourceOf(
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
export async function runForTest(options: TestRunOptions): Promise<TestRun> {
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
      mcp: silentServers(
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
