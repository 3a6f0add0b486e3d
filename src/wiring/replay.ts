import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import { conduct, type OpenedRun, type RunReport, type Surroundings } from './conduct.ts'
import { findWorkspace } from '../config/locate.ts'
import type { Listener } from '../event/bus.ts'
import { refuseForeign } from '../journal/own-run.ts'
import { openSigningKey } from '../journal/signing.ts'
import { openFileRecords } from '../journal/source.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import { provenVariables } from '../journal/cassette-proof.ts'
import { nodeFiles } from '../journal/file-port.ts'
import { openCassette } from '../journal/open-cassette.ts'
import { createPathTokens, foldersOf } from '../journal/portable.ts'
import { replayedContents } from '../journal/replayed-contents.ts'
import { createReplayedEffects, type ReplayedEffects } from '../journal/replayed-effects.ts'
import { createMask, type SecretMask } from '../journal/secrets.ts'
import { environmentOf, type Invocation, invocationOf, recordedCost, resultHash, withOverrides } from '../run/record.ts'
import { recordedServers } from '../run/recorded-servers.ts'
import { recordedTools } from '../run/recorded-tools.ts'
import { createScratch, type Scratch } from '../run/scratch.ts'
import { createStoredSources } from '../run/stored-sources.ts'
import type { Target } from '../load/target.ts'
import { packageRoot } from '../package-root.ts'
import type { Replay } from './run-effects.ts'
import { runFolders } from './load-run.ts'
import type { AgentParts } from '../agent/parts.ts'
import type { ModelSources } from '../model/choice.ts'
import type { ModelProvider } from '../model/provider.ts'
import { chooseModelFor } from '../model/select.ts'
import { loadModelTable } from '../model/table.ts'
import { type Choice, choiceOf, choicePlace } from '../run/model-choices.ts'

/** A recorded run: its folder, or the cassette made from it. */
export type RecordedRun =
  | { readonly kind: 'cassette'; readonly file: string }
  | { readonly kind: 'run'; readonly folder: string }

/**
 * What may be replaced; everything else is as in the recorded run. `overrides` are added to the recorded ones and take
 * precedence.
 */
type ReplacedOptions = Partial<
  Pick<Invocation, 'inputs' | 'onFiles' | 'overrides' | 'vars' | 'model' | 'dry' | 'text' | 'stdin' | 'outputSchema'>
>

export interface ReplayOptions extends Pick<Surroundings, 'env' | 'home' | 'signal' | 'aipackBase'> {
  readonly record: RecordedRun
  /** Absolute; determines the workspace. */
  readonly cwd: string
  /**
   * `recorded`: reads are answered from the record too, and file changes go to a scratch folder. `live-files`: files
   * are read and changed in place (which should be a copy); everything else is answered from the record.
   */
  readonly observations: 'recorded' | 'live-files'
  readonly given?: ReplacedOptions
  readonly prepare?: (target: Target) => Target
}

export interface ReplayReport extends RunReport {
  /** Effects that were answered from the record, by kind. */
  readonly replayed: Readonly<Record<string, number>>
  /** The cost of the model calls in the record, in US dollars; null if unknown. */
  readonly recordedCostUsd: number | null
  /** How the recorded run ended; undefined if it did not end. */
  readonly recordedExit: number | undefined
  /** Whether answers and outputs match the recorded run; undefined if the record does not say. */
  readonly isSameResult: boolean | undefined
  /**
   * What was changed, and where; undefined with `live-files`, and if nothing was changed. `unlike`: the files that
   * could not be made the same as in the recorded run.
   */
  readonly scratch:
    | { readonly folder: string; readonly files: readonly string[]; readonly unlike: readonly string[] }
    | undefined
}

/**
 * Runs the current files the way a recorded run was run, with everything external answered from its record: no model,
 * command, network or key is needed, and nothing is recorded. The first difference is the error of the report:
 * DIVERGED. `file` defaults to the recorded one.
 * @throws BatonError USAGE, JOURNAL_FAILED for a record that cannot be replayed
 */
export async function replayRun(
  file: string | undefined,
  options: ReplayOptions,
  listener: Listener,
): Promise<ReplayReport> {
  const workspace = findWorkspace(options)
  const opened = await openRecord(options, workspace)
  const { source, index, restore } = opened
  const scratch = createScratch(workspace)
  try {
    const replayed = createReplayedEffects({
      index,
      signal: options.signal,
      restore,
      files: options.observations === 'recorded' ? { kind: 'recorded', scratch } : { kind: 'live' },
    })
    const mcp = recordedServers(index)
    const invocation = again(opened.invocation, { ...options, file })
    const report = await conduct(
      {
        id: index.records('run.start')[0]?.run ?? '',
        ...defined({ begunAt: index.records('run.start')[0]?.t }),
        invocation,
        ...defined({ recordedServers: mcp?.servers.map(({ name }) => name) }),
        recordedOfPack: (pack) => recordedServers(index, pack)?.servers.map(({ name }) => name),
        isRecordedTool: recordedTools(index),
        sources: createStoredSources(),
        isResumed: false,
        isReplay: true,
        prepare: (target) => withoutTranscript(options.prepare?.(target) ?? target),
        open: async (target, { mask }): Promise<OpenedRun> => ({
          journal: { ...createMemoryJournal({ mask }), ...replayedContents(source) },
          replay: {
            effects: replayed.effects,
            folder: pathOf(options.record),
            chooseModel: chooserFor(target, index, options),
            mcp,
            mcpOfPack: (pack) => recordedServers(index, pack),
            settle: (error) => settle(replayed, error),
          },
        }),
      },
      { ...options, env: environmentOf(invocation, options.env) },
      listener,
    )
    return {
      ...report,
      canResume: false,
      ...(await summary({ index, replayed, scratch, report, workspace, restore }, options)),
    }
  } catch (error) {
    scratch.discard()
    throw error
  } finally {
    source.close()
  }
}

async function openRecord({ record, env, home }: ReplayOptions, workspace: string) {
  const secrets = createMask(env, { names: Object.keys(env) })
  const here = createPathTokens(runFolders({ workspace, home, run: pathOf(record) }))
  // a cassette contains tokens instead of folders, a run folder the folders it was recorded in
  let toTokens = (text: string): string => text
  // whoever wrote a cassette chose its marks, and what is replayed is printed and written to files
  const { unmask } = record.kind === 'cassette' ? await provenSecrets(record.file, env) : secrets
  const mask: SecretMask = { ...secrets, unmask: (text) => here.toPaths(toTokens(unmask(text))) }
  const restore = (text: string): string => secrets.unmask(text)
  const key = record.kind === 'run' ? openSigningKey({ env, home }) : undefined
  if (record.kind === 'run' && key !== undefined) await refuseForeign(record.folder, key, 'replayed')
  const source =
    record.kind === 'cassette'
      ? openCassette(record.file, { mask, restore })
      : openFileRecords(record.folder, { mask, key })
  try {
    const index = await indexRun(source, { keeps: 'everything' })
    const [start] = index.records('run.start')
    if (record.kind === 'run') {
      const raw = openFileRecords(record.folder, { mask: secrets })
      try {
        toTokens = createPathTokens(foldersOf(start && raw.value(start.facts))).toTokens
      } finally {
        raw.close()
      }
    }
    const invocation = start && invocationOf(source.value(start.facts))
    if (invocation !== undefined) {
      const overrides = index.records('run.resume').flatMap((one) => source.value(one.overrides) as readonly string[])
      return { source, index, restore, invocation: withOverrides(invocation, overrides) }
    }
    throw new BatonError('USAGE', `${pathOf(record)} cannot be replayed: it does not say how its run was started`, {
      hint: 'It was interrupted before its first step, or is from an older version. Record the run again.',
    })
  } catch (error) {
    source.close()
    throw error
  }
}

async function provenSecrets(file: string, env: ReplayOptions['env']): Promise<SecretMask> {
  const proven = await provenVariables(file, env, nodeFiles).catch(() => ({}))
  return createMask(proven, { names: Object.keys(proven) })
}

/** The path that stands for the run folder: the folder itself, or the cassette file. */
function pathOf(record: RecordedRun): string {
  return record.kind === 'cassette' ? record.file : record.folder
}

/** How the run is started now. Relative names are resolved in the recorded folder, if it exists here. */
function again(
  recorded: Invocation,
  {
    file,
    cwd,
    given = {},
  }: { readonly file: string | undefined; readonly cwd: string; readonly given?: ReplacedOptions },
): Invocation {
  const own: ReplacedOptions = defined(given)
  const overrides = [...recorded.overrides, ...(own.overrides ?? [])]
  // given inputs of one kind replace recorded inputs of the other kind
  const none =
    own.inputs !== undefined
      ? { onFiles: [], readsInputs: true as const }
      : own.onFiles !== undefined
        ? { inputs: [] }
        : {}
  const invocation = { ...recorded, ...none, ...own, overrides, cwd: existsSync(recorded.cwd) ? recorded.cwd : cwd }
  if (file === undefined) return invocation
  const { text: _, ...others } = invocation
  const path = resolve(cwd, file)
  return { ...others, file: existsSync(path) ? path : file }
}

/** Answers below the `====` line are written by runs. */
function withoutTranscript(target: Target): Target {
  if (target.kind !== 'prompt') return target
  const { transcriptLine: _, ...document } = target.spec.document
  return { ...target, spec: { ...target.spec, document } }
}

function chooserFor({ settings }: Target, index: RunIndex, { env }: ReplayOptions): Replay['chooseModel'] {
  const { providers, gateway, model_aliases: aliases } = settings
  const sources = { env, providers, gateway, aliases }
  return createReplayedChooser({ index, sources, tableFile: join(packageRoot(), 'agents', 'models.toml') })
}

/** A difference counts even if a script caught it, and so do recorded calls that were not made. */
function settle({ difference, leftOver }: ReplayedEffects, error: unknown): void {
  const found = difference(error) ?? (error === undefined ? leftOver() : undefined)
  if (found !== undefined) throw found
}

interface Replayed {
  readonly index: RunIndex
  readonly replayed: ReplayedEffects
  readonly scratch: Scratch
  readonly report: RunReport
  readonly workspace: string
  readonly restore: (text: string) => string
}

async function summary(
  { index, replayed, scratch, report, workspace, restore }: Replayed,
  { home, record }: ReplayOptions,
) {
  const { source } = index
  const end = index.records('run.end').at(-1)
  const facts = end === undefined ? undefined : (source.value(end.facts) as { readonly result?: string } | undefined)
  const { toTokens } = createPathTokens(runFolders({ workspace, home, run: pathOf(record) }))
  const [files, unlike] = [scratch.files(), scratch.unlike()]
  scratch.leave()
  const folder = scratch.folder()
  return {
    replayed: replayed.counts,
    recordedCostUsd: recordedCost(index),
    recordedExit: end?.exit,
    isSameResult:
      facts?.result === undefined
        ? undefined
        : [toTokens, (text: string) => toTokens(restore(text))].some((map) => facts.result === resultHash(report, map)),
    scratch: folder === undefined ? undefined : { folder, files, unlike },
  }
}

interface ReplayedChoices {
  readonly index: RunIndex
  readonly sources: ModelSources
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
}

/**
 * Returns what a name meant in the recorded run. For a name that the run did not use: what it means here, as far as
 * that is known without calling a server; the request then differs, which the replay reports. Never rejects.
 */
function createReplayedChooser({ index, sources, tableFile }: ReplayedChoices): AgentParts['chooseModel'] {
  return async (name) => {
    const { p } = choicePlace(name, sources.aliases)
    const location = index.tree.find(p)?.answer
    const record = location === undefined ? undefined : index.source.at(location)
    const choice =
      record?.k === 'obs' && record.status === 'ok'
        ? (index.source.value(record.value) as Choice)
        : await choiceHere(name, { sources, tableFile })
    return {
      ...choice,
      provider: silent,
      priced: { provider: 'replay', baseUrl: undefined, model: choice.model, isFree: true },
    }
  }
}

async function choiceHere(
  name: string | undefined,
  { sources, tableFile }: Pick<ReplayedChoices, 'sources' | 'tableFile'>,
): Promise<Choice> {
  try {
    const options = { loadTable: () => loadModelTable(tableFile), findLocal: async () => undefined, isAttended: true }
    return choiceOf(await chooseModelFor(name, sources, options))
  } catch {
    const label = name ?? 'the default model'
    return { model: label, label }
  }
}

const silent: ModelProvider = {
  name: 'replay',
  stream() {
    throw new BatonError('MODEL_FAILED', 'a replayed run calls no model')
  },
}
