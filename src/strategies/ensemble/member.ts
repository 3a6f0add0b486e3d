import { basename, extname } from 'node:path'
import { hasOwnText } from '../../base/model-text.ts'
import { durationText } from '../../base/clock.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { BatonError, isBatonError, isSuspension, rewordError, stopsRun } from '../../base/error.ts'
import { canonicalJson, defined, type Json, type JsonObject } from '../../base/json.ts'
import { startPausableLimit } from '../../base/pausable-limit.ts'
import { startStopwatch } from '../../base/work-time.ts'
import type { Ensemble, EnsembleMember } from '../../settings/strategies/ensemble.ts'
import type { Retries } from '../../settings/retries.ts'
import type { Settings } from '../../config/settings.ts'
import {
  below,
  emit,
  type Limits,
  narrow,
  type RunContext,
  withLease,
  withScope,
  withServices,
  type Sender,
} from '../../event/context.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { withoutLimits } from '../../event/limits.ts'
import type { Spent } from '../../event/meter.ts'
import { item, member as memberPlace, part, type Place } from '../../event/place.ts'
import type { ChainState } from '../../stage/state.ts'
import { failureOf, type TaskAnswer } from '../../run/answer.ts'
import { ask } from '../../run/ask.ts'
import type { FileSet } from '../../run/files.ts'
import { inTries } from '../../run/tries.ts'
import type { TaskPlan } from '../../run/plan.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { settingsHere, targetHere } from '../../run/isolation/placed-target.ts'
import { checkTree, inTreeOf, type Trees } from './trees.ts'
import { settingsFor } from '../../config/run-spec.ts'
import type { ResolvedAgent } from '../../load/definitions.ts'

/** How a member ended. Plain JSON, because it is recorded. */
export type MemberEnd =
  | {
      readonly status: 'answered'
      readonly content: string
      /** Of a file with `[output]`, where members answer in that form. */
      readonly value?: Json
      readonly response: JsonObject
      readonly spent: Spent
      /** Its changes in its work tree. */
      readonly fileChanges?: readonly JsonObject[]
      readonly seconds: number
    }
  | { readonly status: 'failed' | 'timed_out'; readonly error: ErrorInfo; readonly seconds: number }
  /** Stopped because another answer was accepted first. */
  | { readonly status: 'stopped' }

/** An ensemble working on one task: what all its members share. */
export interface EnsembleRun {
  readonly ensemble: Ensemble
  readonly members: readonly PreparedMember[]
  /** Of the file. */
  readonly target: PromptTarget
  readonly plan: TaskPlan
  /** Without the ensemble. */
  readonly state: ChainState
  readonly files: FileSet
  readonly inputText: string
  /** Where members work if they may change files. */
  readonly trees: Trees
}

/** Stops a member from outside. */
export interface MemberStop {
  readonly signal: AbortSignal
  readonly overdue: () => void
  readonly beaten: () => void
  /** Another member failed with an error that ends the run. */
  readonly giveUp: () => void
  readonly reason: () => 'overdue' | 'beaten' | 'given up' | undefined
}

const stopTexts = {
  overdue: 'it exceeded its time limit',
  beaten: 'the answer of another member was taken',
  'given up': 'stopped because another one failed',
} as const

export function createMemberStop(): MemberStop {
  const stop = new AbortController()
  let why: ReturnType<MemberStop['reason']>
  const end = (kind: NonNullable<typeof why>) => (): void => {
    if (why !== undefined) return
    why = kind
    stop.abort(new DOMException(stopTexts[kind], 'AbortError'))
  }
  return {
    signal: stop.signal,
    overdue: end('overdue'),
    beaten: end('beaten'),
    giveUp: end('given up'),
    reason: () => why,
  }
}

/**
 * Runs one member, which may only read unless it has a work tree. It is one boundary: however it ends, a resumed run
 * does not run it again. Its failure is a value.
 * @throws what ends the run, and a suspension
 */
export async function runMember(
  prepared: PreparedMember,
  run: EnsembleRun,
  stop: MemberStop,
  around: RunContext,
): Promise<MemberEnd> {
  const { id, name } = prepared
  const isSpare = run.ensemble.quorum < run.members.length
  const own = withScope(below(around, memberPlace(name)), isSpare ? { isSpare } : {})
  const place = inTreeOf(name, run.trees, own)
  const at = run.trees === undefined ? narrow(place, readingOnly(prepared)) : place
  const { effects } = at.services
  emit(at, { type: 'member.started', id, name })
  try {
    const end = await effects.boundary(at.scope.at, () => settle({ prepared, run, stop, around }, at), {
      inputs: inputsOf(prepared, run),
      ownInputs: hasOwnText(prepared.target.answerAgent?.text ?? '') ? ['member'] : [],
      label: prepared.kind === 'model' ? labelOf(prepared, run) : prepared.kind,
    })
    const ended = end.status === 'stopped' ? end : recordedEnd(end, name, around)
    announce(prepared, ended, at)
    return ended
  } catch (error) {
    if (isSuspension(error)) emit(at, { type: 'member.suspended', id, name, error: errorInfo(error) })
    throw error
  }
}

/** Members only read. A program gets no sandbox, because the author of its command line decides what it may do. */
function readingOnly({ target: { answerAgent } }: PreparedMember): Limits {
  return answerAgent?.kind === 'command' ? { write: false } : { write: false, sandbox: { mode: 'read-only' } }
}

/** The recorded end. A replay repeats the work of a member, which takes a different time and is not stopped again. */
function recordedEnd(end: Exclude<MemberEnd, { status: 'stopped' }>, name: string, around: RunContext): MemberEnd {
  const { status, seconds } = end
  const facts = status === 'answered' ? { status, seconds } : end
  const call = { name: 'ensemble.member', args: name }
  const known = around.services.effects.observe(endPlace(name, around.scope.at), call, () => facts)
  if (known.status !== 'answered') return known
  return end.status === 'answered' ? { ...end, seconds: known.seconds } : end
}

/** The place of the record of how a member ended. */
export function endPlace(name: string, at: Place): Place {
  return [...at, part('ends'), item(name)]
}

function labelOf({ target }: PreparedMember, { state }: EnsembleRun): string {
  return target.settingsFor(state.params).model ?? 'model'
}

function announce({ id, name }: PreparedMember, end: MemberEnd, at: Sender): void {
  switch (end.status) {
    case 'answered':
      return emit(at, { type: 'member.completed', id, name, output: end.value ?? end.content })
    case 'failed':
      return emit(at, { type: 'member.failed', id, name, error: end.error })
    case 'timed_out':
      return emit(at, { type: 'member.timed_out', id, name, error: end.error })
    case 'stopped':
      return emit(at, { type: 'member.stopped', id, name })
  }
}

/** The inputs of the work of a member; limits and other members are not among them. */
function inputsOf({ name, target, kind }: PreparedMember, { state, inputText }: EnsembleRun) {
  const { answerAgent: agent, answerOptions: options = {}, output } = target
  return {
    member: { name, kind, options, agent: agent === undefined ? null : { name: agent.name, text: agent.text } },
    settings: withoutLimits(target.settingsFor(state.params) as unknown as JsonObject),
    prompts: state.prompts,
    inputText,
    output: output?.schema ?? null,
  }
}

interface MemberWork {
  readonly prepared: PreparedMember
  readonly run: EnsembleRun
  readonly stop: MemberStop
  /** The place of the ensemble. */
  readonly around: RunContext
}

async function settle({ prepared, run, stop, around }: MemberWork, at: RunContext): Promise<MemberEnd> {
  checkTree(prepared.name, run.trees, at)
  const { timeout_ms: limitMs } = run.ensemble
  const { signal, asking: outer } = at.services
  const worked = startStopwatch()
  const seconds = (): number => Math.round(worked.elapsedMs()) / 1000
  const time = limitMs === undefined ? undefined : startPausableLimit(limitMs, stop.overdue)
  const asking = <T>(work: () => Promise<T>): Promise<T> => {
    const further = (): Promise<T> => (outer === undefined ? work() : outer(work))
    return time === undefined ? further() : time.without(further)
  }
  const both = manyListeners(AbortSignal.any([signal, stop.signal]))
  try {
    const work = withServices(at, { signal: both, asking })
    const { text, value, response, spent, fileChanges } = await attempts(prepared, run, work)
    const changed = fileChanges.length === 0 ? {} : { fileChanges }
    const given = { content: text, ...defined({ value }), response, spent, ...changed }
    return { status: 'answered', ...given, seconds: seconds() }
  } catch (caught) {
    const { error } = failureOf(caught)
    signal.throwIfAborted()
    const why = stop.reason()
    if (stopsRun(error) || why === 'given up') throw error
    if (why === 'beaten') return { status: 'stopped' }
    // a replay recalls that a call was stopped; how its member ended is read from the record
    const isRecalled = !isBatonError(error) && at.services.effects.answers(endPlace(prepared.name, around.scope.at))
    if (why === 'overdue' || isRecalled)
      return { status: 'timed_out', error: errorInfo(overdue(run)), seconds: seconds() }
    if (!isBatonError(error)) throw error
    const from = await run.target.placeOf(['ensemble', 'agents', prepared.index], 'key')
    return { status: 'failed', error: errorInfo(rewordError(error, { from })), seconds: seconds() }
  } finally {
    worked.end()
    time?.end()
  }
}

function overdue({ ensemble }: EnsembleRun): BatonError {
  const { timeout_ms: own, deadline_ms: all } = ensemble
  // the shorter limit was the one that ended it
  const isOwn = own !== undefined && (all === undefined || own <= all)
  const limit = isOwn ? `its timeout, ${durationText(own)}` : `the deadline of the ensemble, ${durationText(all ?? 0)}`
  return new BatonError('LIMIT', `it took longer than ${limit}`, {
    reason: 'AGENT_TIMEOUT',
    hint: `Raise ${isOwn ? 'timeout' : 'deadline'} of [ensemble] if that is needed.`,
  })
}

/** Asks a member, and again after a failure, as often as it or the ensemble says. */
async function attempts(prepared: PreparedMember, run: EnsembleRun, at: RunContext): Promise<TaskAnswer> {
  const { retries, retry_on: reasons, members } = run.ensemble
  // plus a share for the one that combines the answers
  const among = members.length - prepared.index + 1
  const tries = {
    retries,
    retry_on: reasons,
    ...prepared.tries,
    name: `"${prepared.name}"`,
    isEmpty: ({ text }: TaskAnswer) => text.trim() === '',
  }
  return withLease(at, { whom: `member "${prepared.name}"`, among }, () =>
    // without retry_on the next try gets the same prompt, as earlier versions recorded it
    inTries(tries, at, (place, remark) => askMember(prepared, run, place, tries.retry_on && remark)),
  )
}

function askMember(
  { target }: PreparedMember,
  { plan, state: given, files, inputText, trees }: EnsembleRun,
  at: RunContext,
  remark: string | undefined,
): Promise<TaskAnswer> {
  const state = remark === undefined ? given : { ...given, prompts: [...given.prompts, remark] }
  const own = target.settingsFor(state.params)
  const settings: Settings = trees === undefined ? { ...own, write_mode: false } : settingsHere(own, at.scope.folders)
  const here = trees === undefined ? target : targetHere(target, at.scope.folders)
  return ask({ plan, settings, state, files, inputText }, here, at)
}

type MemberKind = 'model' | 'agent' | 'command'

/** A member ready to run: the file as if it had no ensemble and only this member answered. */
export interface PreparedMember extends Pick<EnsembleMember, 'name' | 'index'> {
  /** `{file}-ensemble-{name}`. */
  readonly id: string
  readonly kind: MemberKind
  /** As its table says; omitted: as the ensemble says. */
  readonly tries: Retries
  readonly target: PromptTarget
}

/** Whether `[output]` applies to the members; else it applies to the one that combines their answers. */
function answersInForm({ aggregate, isolation }: Ensemble): boolean {
  return aggregate === 'vote' || aggregate === 'first' || isolation === 'worktree'
}

/**
 * The members of an ensemble, in the order in which they are listed.
 * @throws BatonError AGENT_NOT_FOUND
 */
export function prepareMembers(ensemble: Ensemble, target: PromptTarget): Promise<readonly PreparedMember[]> {
  const { file } = target.spec
  const spec = basename(file, extname(file))
  return Promise.all(
    ensemble.members.map(async (member) => {
      const { name, index, model, retries, retry_on } = member
      const agent = await agentOf(member, target)
      return {
        name,
        index,
        id: `${spec}-ensemble-${name}`,
        kind: kindOf(member),
        tries: defined({ retries, retry_on }),
        target: {
          ...alone(target, agent === undefined ? model : undefined),
          answerAgent: agent,
          answerOptions: model === undefined ? {} : { model },
          output: answersInForm(ensemble) ? target.output : undefined,
        },
      }
    }),
  )
}

/** The file as if only the aggregator, or the model of the synthesis, answered, and it had no ensemble. */
export async function aggregateTarget(
  { aggregator: name, model }: Ensemble,
  target: PromptTarget,
): Promise<PromptTarget> {
  const answerAgent = name === undefined ? undefined : ((await target.findAgent({ name })) as ResolvedAgent)
  return { ...withoutTeam(alone(target, model)), answerAgent, answerOptions: {} }
}

/** Combining answers, or choosing one, starts no agents: only members do. */
function withoutTeam(target: PromptTarget): PromptTarget {
  const without = (settings: Settings): Settings => {
    const { collab: _, ...others } = settings
    return others
  }
  return { ...target, settings: without(target.settings), settingsFor: (params) => without(target.settingsFor(params)) }
}

export function kindOf({ agent, line }: EnsembleMember): MemberKind {
  if (line !== undefined) return 'command'
  return agent === undefined ? 'model' : 'agent'
}

async function agentOf(
  { name, agent, line }: EnsembleMember,
  { findAgent, spec }: PromptTarget,
): Promise<ResolvedAgent | undefined> {
  if (agent !== undefined) return (await findAgent({ name: agent })) as ResolvedAgent
  if (line === undefined) return undefined
  const text = canonicalJson(line as unknown as JsonObject)
  return { kind: 'command', name, file: spec.file, text, line, builtIn: false }
}

/**
 * The file as if it had no ensemble. `model` takes precedence over that of the file and over flags; default: those
 * decide.
 */
function alone(target: PromptTarget, model: string | undefined): PromptTarget {
  const { spec } = target
  const named = { origin: spec.layers.own.origin, values: model === undefined ? {} : { model } }
  const layers = { ...spec.layers, above: [...spec.layers.above, named] }
  const settingsOf = settingsFor({ ...spec, layers })
  const known = new WeakMap<JsonObject, Settings>()
  const settingsAlone = (params: JsonObject): Settings => {
    const { ensemble: _, ...settings } = known.get(params) ?? settingsOf(params)
    known.set(params, settings)
    return settings
  }
  return { ...target, settings: settingsAlone(spec.params), settingsFor: settingsAlone }
}

/** The front matter after the chain, without the ensemble, which members do not see. */
export function withoutEnsemble({ params, prompts }: ChainState): ChainState {
  const { ensemble: _, ...others } = params
  return { params: others, prompts }
}
