import { sha256 } from '../base/hash.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import { withoutQueries } from '../config/layers.ts'
import type { RunJournal } from '../journal/journal.ts'
import { recordedError } from '../journal/recorded-error.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { ChatPlace } from '../journal/chat-place.ts'
import type { TextMap } from '../journal/value.ts'
import { type Ending, exitCodeFor } from './ending.ts'
import { lastSource, sourceRecord } from './sources.ts'
import type { SourceRecorder } from './stored-sources.ts'
import type { Target } from '../load/target.ts'

/** Hash of a target: of a prompt file, only the part above the transcript. */
export function hashOf(target: Target): string {
  return target.kind === 'prompt' ? target.spec.document.hash : sha256(target.agent.text)
}

/** Starts the journal of a run, and stores what it executes. */
export function recordStart(
  journal: RunJournal,
  target: Target,
  run: { readonly id: string; readonly version: string; readonly facts: JsonObject; readonly sources: SourceRecorder },
): void {
  const file = target.kind === 'prompt' ? target.spec.file : target.agent.file
  const pins = Object.fromEntries(target.agents.map(({ name, text }) => [name, sha256(text)]))
  const facts = { ...run.facts, workspace: target.workspace }
  journal.note({ k: 'run.start', run: run.id, file, hash: hashOf(target), version: run.version, facts, pins })
  recordSources(journal, target, run.sources)
}

/**
 * Stores all sources of the target, so that a later resume uses the same, and its merged config. Called by each process
 * that starts or resumes a run, after loading its target.
 */
export function recordSources(journal: Pick<RunJournal, 'note'>, target: Target, sources: SourceRecorder): void {
  const { start, later } = sources.begin(journal)
  const names = new Map(target.agents.map(({ name, file }) => [file, name]))
  if (target.kind === 'prompt') names.set(target.spec.file, 'prompt')
  if (target.kind === 'prompt' && target.spec.source === 'text') {
    const { text } = target.spec.document
    journal.note({ k: 'source', name: 'prompt', path: '', hash: hashOf(target), value: text })
  }
  if (target.kind === 'prompt' && target.stdin !== undefined) {
    journal.note({ k: 'source', name: 'stdin', path: '', hash: sha256(target.stdin), value: target.stdin })
  }
  for (const source of start) journal.note(sourceRecord(source, names.get(source.path)))
  journal.note({ k: 'source', name: lastSource, path: '', hash: '', value: recordedSettings(target) })
  for (const source of later) journal.note(sourceRecord(source))
}

/** Removes what belongs to the user and not to the run: queries of URLs, which may contain a key, and who is told of it. */
function recordedSettings(target: Target): Target['settings'] {
  const { notify: _, ...settings } = target.settings
  const { providers, gateway } = settings
  return {
    ...settings,
    providers: withoutQueries(providers as unknown as JsonObject) as unknown as typeof providers,
    ...(gateway === undefined ? {} : { gateway: withoutQueries(gateway) as unknown as typeof gateway }),
  }
}

interface RecordedTimes {
  readonly workedMs: number
  readonly asleepMs: number
  /** The gaps in earlier processes that have not recorded how long they worked. */
  readonly gapsBeforeMs: number
  /** What of them was sleep. */
  readonly asleepBeforeMs: number
}

/** Ends the journal of a run, unless the journal itself failed. */
export function recordEnd(
  journal: RunJournal,
  ending: Ending,
  { facts, workedMs, asleepMs, gapsBeforeMs, asleepBeforeMs }: { readonly facts?: JsonObject } & RecordedTimes,
): void {
  if (journal.failure.aborted) return
  const error = ending.error === undefined ? undefined : recordedError(ending.error)
  const end = { exit: exitCodeFor(ending), stop: ending.stopReason, ...defined({ facts, error }) }
  const lost = {
    ...(asleepMs > 0 ? { asleep_ms: Math.round(asleepMs) } : {}),
    ...(gapsBeforeMs === 0 ? {} : { gaps_before_ms: gapsBeforeMs }),
    ...(asleepBeforeMs > 0 ? { asleep_before_ms: asleepBeforeMs } : {}),
  }
  journal.note({ k: 'run.end', ...end, worked_ms: Math.round(workedMs), ...lost })
}

/** How a run was started: together with its sources, enough to start it again. Plain JSON, because it is recorded. */
export interface Invocation {
  /** As it was named; for `-p` text, its name in messages. */
  readonly file: string
  /** Absolute. */
  readonly cwd: string
  readonly inputs: readonly Json[]
  /** An agent definition gets them as messages, and they are refused where nothing reads them; older runs ignored them. */
  readonly readsInputs?: true
  readonly onFiles: readonly string[]
  readonly overrides: readonly string[]
  readonly vars: readonly string[]
  readonly patienceMs: number
  /** Default limit of rounds. Omitted in runs of older versions, where reaching the limit was no failure. */
  readonly rounds?: number
  readonly dry?: 'req' | 'res' | 'changes'
  readonly model?: string
  readonly text?: string
  /** See `RunSpecOptions`. */
  readonly instruction?: string
  /** The chat that the run is a message of. */
  readonly chat?: ChatPlace
  /** Standard input, if it is context. */
  readonly stdin?: string
  readonly outputSchema?: string | JsonObject
  /** Where its result, a copy of its record and a report are written. Absolute. */
  readonly output?: string
  readonly record?: string
  readonly report?: string
  /** It was a conversation, which received messages from a front end while running. */
  readonly conversation?: true
  /** Approvals wait if nobody can be asked. */
  readonly onAsk?: 'suspend'
  /** Environment variables that decide what is run. */
  readonly env: Readonly<Record<string, string>>
}

/** Environment variables that affect the config; all others are taken from the resuming process. */
const deciding = ['BATON_MODEL', 'BATON_GATEWAY_URL']

type Environment = Readonly<Record<string, string | undefined>>

export function decidingVariables(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(deciding.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** The current environment, with the recorded variables that decided how the run started. */
export function environmentOf({ env: then }: Invocation, now: Environment): Environment {
  return { ...now, ...Object.fromEntries(deciding.map((name) => [name, then[name]])) }
}

/** The facts of a `run.start` record; undefined for runs of versions that did not record them. */
export function invocationOf(facts: unknown): Invocation | undefined {
  if (!isObject(facts) || !isObject(facts['invocation'])) return undefined
  return facts['invocation'] as unknown as Invocation
}

/** With settings that take precedence over those it was started with. */
export function withOverrides(invocation: Invocation, overrides: readonly string[]): Invocation {
  return { ...invocation, overrides: [...invocation.overrides, ...overrides] }
}

export function factsOf(invocation: Invocation): JsonObject {
  return { invocation: invocation as unknown as JsonObject }
}

/** Hash of the result of a run, to compare it with a replay: answers and outputs, with paths mapped by `map`. */
export function resultHash({ tasks, outputs }: Pick<Ending, 'tasks' | 'outputs'>, map: TextMap): string {
  const answers = tasks.map((task) => (task.status === 'done' ? task.content : task.status))
  return sha256(
    JSON.stringify([answers, outputs], (_, value: unknown) => (typeof value === 'string' ? map(value) : value)),
  )
}

/** The cost of the model calls of a recorded run, in US dollars; null if there were calls and none has a price. */
export function recordedCost({ modelCalls }: RunIndex): number | null {
  const costs = [...modelCalls()].flatMap(({ spent }) => spent.map(({ costUsd }) => costUsd))
  const known = costs.filter((cost) => cost !== null)
  return costs.length > 0 && known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0)
}
