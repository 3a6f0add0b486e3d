import { setTimeout as wait } from 'node:timers/promises'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { isJsonObject, isObject, type Json, plainText } from '../base/json.ts'
import {
  type CallRequest,
  type ChangeRequest,
  type Disk,
  type Effects,
  type FileChangeRecord,
  storedContentMarker,
} from '../event/effects.ts'
import { type Action, withoutDetails, type Permission, type Permit } from '../event/permission.ts'
import { callPlace, isWithin, originOf, part, type Place, placeText, withoutCall } from '../event/place.ts'
import { capture, type WorkResult, captureAsync, unwrap } from './work-result.ts'
import { modelOf } from './budget.ts'
import { permissionCheck, permitOf } from './permission-check.ts'
import { type ComparedCall, createMatcher, decodedComparison, type Match, type StartedRecord } from './matching.ts'
import type { RunIndex } from './run-index.ts'
import { noMask } from './secrets.ts'
import { isFinished, type Location, type PlaceNode } from './tree.ts'
import { encodeValue } from './value.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import { callText } from './call-text.ts'

/** Where the file changes of a replayed run are made. */
export interface ScratchFiles {
  /**
   * Makes a recorded change. `write` writes what a script provides, to the path that it is passed; undefined: the
   * content comes from other files.
   */
  change(record: FileChangeRecord, write: ((disk: Disk) => void) | undefined): void
}

export interface ReplayOptions {
  /** The index of the entire record. */
  readonly index: RunIndex
  readonly signal: AbortSignal | undefined
  /** Restores masked secrets, only to compare: the record of a cassette has marks where a run of today has values. */
  readonly restore?: (text: string) => string
  /**
   * `recorded`: reads are answered from the record, changes go to `scratch`. `live`: files are read and changed in
   * place; only what does not involve files comes from the record.
   */
  readonly files: { readonly kind: 'recorded'; readonly scratch: ScratchFiles } | { readonly kind: 'live' }
}

export interface ReplayedEffects {
  readonly effects: Effects
  /** The first difference, if there was one; `thrown` is the error the run failed with. */
  readonly difference: (thrown?: unknown) => BatonError | undefined
  /** Recorded calls that were not made, as a difference; undefined if all were made. */
  readonly leftOver: () => BatonError | undefined
  /** How many effects were answered, by kind. */
  readonly counts: Readonly<Record<string, number>>
}

/** Code is read from disk: a replay shows the effect of code changes. */
const isSource = (name: string): boolean => name === 'require'
/** An agent that was added gets a number as well; what it does shows the difference. */
const isCount = (name: string): boolean => name === 'run.number'
/** Host functions that use files, which do not exist in a replay. */
const isFileCall = (name: string): boolean => /^aip\.(?:file|pdf|udiffx|zip)\./.test(name)
const isAboutFiles = ({ name, reads }: CallRequest): boolean =>
  reads !== undefined || isFileCall(name) || /^(?:aip\.path\.|file[._])/.test(name)
/** Changes whose content comes from the caller, not from disk. */
const givesContent: ReadonlySet<string> = new Set(['write', 'append', 'link'])
/** A call that was stopped because another one failed waits for that one to fail here too. */
const stoppedMs = 200
/** More models than anyone lists for one call. */
const mostModels = 32

/**
 * Effects of a run that is replayed: observations and effects are answered by place as long as they match the record;
 * boundaries and calls do their work again. Nothing outside is called, paid, waited for or changed.
 * @throws BatonError DIVERGED from any of its methods at the first difference, and from all of them from then on
 */
export function createReplayedEffects(options: ReplayOptions): ReplayedEffects {
  const { index, signal, files, restore = (text) => text } = options
  const { source, tree } = index
  const matcher = createMatcher(index, decodedComparison(index, restore))
  const first = createFirstDifference()
  const answered = new Set<Location>()
  const counts: Record<string, number> = {}

  function nodeAt(at: Place): PlaceNode | undefined {
    first.check()
    return tree.find(placeText(at))
  }

  function plain({ name, request }: ComparedCall): ComparedCall {
    return { name, request: encodeValue(request, noMask.mask) }
  }

  function callAt(location: Location | undefined): ComparedCall | undefined {
    const call = location === undefined ? undefined : matcher.callAt(location)
    return call && plain(call)
  }

  function stop(at: Place, error: BatonError): never {
    return first.stop(placeText(originOf(at)), error)
  }

  function differ(at: Place, now: ComparedCall): never {
    const node = tree.find(placeText(at))
    const recorded = callAt(node?.started ?? node?.answer ?? node?.returned)
    const why = endHint(index)
    return stop(at, differenceAt(placeText(at), { now: plain(now), recorded, ...(why !== undefined && { why }) }))
  }

  /** How the recorded call ended. Throws the difference if the current call is not the recorded one. */
  function recalled(at: Place, { name, args }: CallRequest, match: Match): WorkResult<unknown> {
    const now = { name, request: args }
    if (match.kind === 'ended') return matcher.recall(match.outcome)
    if (match.kind !== 'other') return differ(at, now)
    return stop(at, differenceAt(placeText(at), { now: plain(now), recorded: callAt(match.at) }))
  }

  function count(kind: string, node: PlaceNode | undefined): void {
    if (node?.started !== undefined) answered.add(node.started)
    counts[kind] = (counts[kind] ?? 0) + 1
  }

  function recordedObservation(at: Place, call: CallRequest): WorkResult<unknown> {
    return recalled(at, call, matcher.observation(answerOnly(nodeAt(at)), call))
  }

  function isLive({ name, ...call }: CallRequest, node: PlaceNode | undefined): boolean {
    if (isSource(name) || (isCount(name) && node?.answer === undefined)) return true
    return files.kind === 'live' && isAboutFiles({ name, ...call })
  }

  /** Finished work that was stopped while it waited for an approval: it is suspended here too. */
  function waitAgain(at: Place, node: PlaceNode | undefined): void {
    if (node?.waits !== true || node.ended !== undefined || !isFinished(tree, placeText(at))) return
    throw new BatonError('WAITING_FOR_APPROVAL', `${placeText(at)} waited for approval until it was stopped`)
  }

  async function endOf(
    at: Place,
    match: Match & { readonly started?: StartedRecord },
    assumed: unknown,
  ): Promise<unknown> {
    if (match.kind === 'ended' && match.outcome.status === 'ok') return unwrap(matcher.recall(match.outcome))
    const { choice } = match as { readonly choice?: PlaceNode['choice'] }
    if (choice === 'done' || choice === 'found') return assumed
    if (match.started !== undefined && (choice === 'fail' || choice === 'tell')) {
      throw (await import('./uncertain.ts')).chosenError(choice, placeText(at), match.started)
    }
    if (match.kind !== 'ended') {
      waitAgain(at, tree.find(placeText(at)))
      return stop(at, brokenOff(placeText(at), callAt(tree.find(placeText(at))?.started)))
    }
    if (match.outcome.status === 'cancelled') await wait(stoppedMs, undefined, signal && { signal })
    return unwrap(matcher.recall(match.outcome))
  }

  /** Models that were in cooldown, or had no key, were skipped in favor of others in their list. */
  function wasLeftOut(at: Place): boolean {
    const turn = withoutCall(at)
    return Array.from({ length: mostModels }, (_, number) => placeText(callPlace(turn, number))).some(
      (place) => tree.find(place)?.started !== undefined,
    )
  }

  /** Compares file changes with the recorded ones, and makes them in the scratch folder. */
  function changeRecorded(
    scratch: ScratchFiles,
    at: Place,
    asked: ChangeRequest,
    plan: Parameters<Effects['changeFile']>[2],
  ): boolean {
    const node = nodeAt(at)
    const match = matcher.change(node, asked)
    if (match.kind === 'none' || match.kind === 'other') return differ(at, { name: 'file', request: asked })
    if (match.started === undefined) {
      if (match.kind === 'ended') unwrap(matcher.recall(match.outcome))
      return false
    }
    count('file', node)
    if (match.kind === 'ended') unwrap(matcher.recall(match.outcome))
    const change = source.value(match.started.request) as FileChangeRecord
    if (!givesContent.has(change.op)) {
      scratch.change(change, undefined)
      return true
    }
    const differs = (request: Json): never => differ(at, { name: 'file', request })
    const planned = capture(() => plan(() => {}))
    if (planned.status === 'failed') return differs({ ...asked, refused: messageOf(planned.error) })
    if (planned.value === undefined) {
      if (change['content'] !== storedContentMarker) return differs(asked)
      // it cannot be made again without the file that its content came from
      scratch.change(change, undefined)
      return true
    }
    if (planned.value.record.after !== change.after) return differs(planned.value.record)
    scratch.change(change, planned.value.act)
    return true
  }

  /** The permit for an action: a recorded approval counts as the user's answer. */
  function permitted(at: Place, action: Action, permission: Permission): Permit {
    const node = nodeAt([...at, part('approval')])
    const match = matcher.effect(node, { kind: 'approval', request: withoutDetails(action) })
    waitAgain(at, node)
    const permit = match.kind === 'ended' ? permitOf(action, matcher.recall(match.outcome)) : undefined
    if (permit !== undefined) count('approval', node)
    permissionCheck(permission)(action, undefined, permit)
    return permit ?? { action }
  }

  const under = (permission: Permission): Effects => ({
    observe(at, call, read) {
      const node = nodeAt(at)
      return isLive(call, node) ? read() : (unwrap(recordedObservation(at, call)) as ReturnType<typeof read>)
    },

    async observeAsync(at, call, read) {
      const node = nodeAt(at)
      if (isLive(call, node)) return read(permissionCheck(permission))
      return unwrap(recordedObservation(at, call)) as Awaited<ReturnType<typeof read>>
    },

    answers: () => files.kind === 'recorded',
    // a replay reports everything
    wasDone: () => false,
    lacks(at) {
      const { started, answer } = tree.find(placeText(at)) ?? {}
      return started === undefined && answer === undefined
    },
    requested(at) {
      const request = matcher.requestAt(tree.find(placeText(at)))
      return request === undefined
        ? undefined
        : { request, sources: 'current', files: files.kind === 'live' ? 'current' : 'recorded' }
    },

    permit: async (at, action) => permitted(at, action, permission),

    changeFile(at, asked, plan) {
      if (files.kind === 'recorded') return changeRecorded(files.scratch, at, asked, plan)
      first.check()
      const planned = plan(permissionCheck(permission))
      planned?.act((path) => path)
      return planned !== undefined
    },

    async perform(at, { kind, request, action, assumed }, _, permit) {
      const node = nodeAt(at)
      signal?.throwIfAborted()
      if (permit === undefined) permitted(at, action, permission)
      else permissionCheck(permission)(action, undefined, permit)
      if (node?.started === undefined && kind === 'model' && wasLeftOut(at)) throw notAsked(request)
      const match = matcher.effect(node, { kind, request })
      if (match.kind === 'none' || match.kind === 'other') return differ(at, { name: kind, request })
      count(kind, node)
      return (await endOf(at, match, assumed)) as never
    },

    boundary: (at, work, { onReplay } = {}) =>
      first.around(placeText(originOf(at)), async () => {
        const { done } = nodeAt(at) ?? {}
        const record = done === undefined ? undefined : source.at(done)
        onReplay?.((record?.k === 'done' ? source.value(record.value) : undefined) as never)
        return work()
      }),

    call(at, asked, work) {
      const node = nodeAt(at)
      if (files.kind === 'live' || !isFileCall(asked.name) || node?.returned === undefined) return work()
      const recorded = recalled(at, asked, matcher.returned(node, asked))
      const answer = (outcome: WorkResult<unknown>): unknown => {
        first.check()
        if (recorded.status === 'ok') return recorded.value
        throw outcome.status === 'failed' ? outcome.error : recorded.error
      }
      return answeredBy(work, answer) as ReturnType<typeof work>
    },

    undo: () => first.check(),
    again: () => false,
    flush: async () => first.check(),
    isReplay: true,
    under,
  })

  return {
    effects: under({ check: () => ({ kind: 'allow' }) }),
    difference: first.error,
    counts,
    leftOver() {
      const left = unrequestedEffects(index, answered).flatMap(({ place, started }) => {
        const call = callAt(started)
        return call === undefined || (files.kind === 'live' && call.name === 'file') ? [] : [{ place, call }]
      })
      return left.length === 0 ? undefined : leftOver(left)
    },
  }
}

/** An observation is compared only with an observation, whatever else was recorded at its place. */
function answerOnly(node: PlaceNode | undefined): PlaceNode | undefined {
  return node?.answer === undefined ? undefined : { answer: node.answer }
}

/** Does the work, which may return synchronously or later, and returns the answer instead of its result. */
function answeredBy(work: () => unknown, answer: (outcome: WorkResult<unknown>) => unknown): unknown {
  const outcome = capture(work)
  if (outcome.status === 'failed' || !(outcome.value instanceof Promise)) return answer(outcome)
  return captureAsync(() => outcome.value as Promise<unknown>).then(answer)
}

function notAsked(request: Json): BatonError {
  return new BatonError('MODEL_FAILED', `${modelOf(request)} was not called in the recorded run`)
}

function endHint({ records }: RunIndex): string | undefined {
  const end = records('run.end').at(-1)
  if (end === undefined) return 'The recorded run was interrupted before its end.'
  return end.exit === 0 ? undefined : `The recorded run failed with exit code ${end.exit}.`
}

/** Recorded effects that ended normally and that nothing in the replay has requested. */
function unrequestedEffects(
  { tree, source }: RunIndex,
  answered: ReadonlySet<Location>,
): readonly { readonly place: string; readonly started: Location }[] {
  const found: { readonly place: string; readonly started: Location }[] = []
  /** Places of model calls that servers requested: what a server made of the answer is in the end of its call. */
  const sampled: string[] = []
  tree.visit(({ started, ended, begin, done }, place) => {
    if (begin !== undefined && isMember(place) && wasStopped(done, source)) return 'skip'
    const end = ended === undefined ? undefined : source.at(ended)
    const isEnded = end?.k === 'ended' && end.status !== 'cancelled'
    if (started === undefined || !isEnded || isOnlyOfRuns(place)) return undefined
    if (!answered.has(started)) found.push({ place, started })
    else if (end.kind === 'mcp') sampled.push(`${place}/sampling/`)
    return undefined
  })
  return found.filter(({ place }) => !sampled.some((below) => place.startsWith(below)))
}

/** A member of an ensemble. */
function isMember(place: string): boolean {
  return /(?:^|\/)member\/[^/]+$/.test(place)
}

/** A replay does not call members whose answers did not count because another one was taken first. */
function wasStopped(done: Location | undefined, source: RunIndex['source']): boolean {
  const record = done === undefined ? undefined : source.at(done)
  const value = record?.k === 'done' ? source.value(record.value) : undefined
  return record === undefined || (isObject(value) && value['status'] === 'stopped')
}

/** What only runs do: they write the answers below the `====` line, and send calls as batches. */
function isOnlyOfRuns(place: string): boolean {
  return place.startsWith('transcript/') || place.startsWith('batch/')
}

const recordAnew = 'If the change is intended, record the run again with --record.'

/**
 * The error of a replayed run that does something different than recorded: names the place and both calls, with their
 * inputs compared line by line.
 */
function differenceAt(
  place: string,
  {
    now,
    recorded,
    why,
  }: { readonly now: ComparedCall; readonly recorded: ComparedCall | undefined; readonly why?: string },
): BatonError {
  const nowText = shortText(now)
  if (recorded === undefined) {
    const hint = why === undefined ? recordAnew : `${why} ${recordAnew}`
    return diverged(`at ${place} it calls ${nowText}, but the record has nothing there`, { hint })
  }
  const recordedText = shortText(recorded)
  const what =
    nowText === recordedText
      ? `at ${place} the input of ${nowText} is not what was recorded`
      : `at ${place} it calls ${nowText}, but the record has ${recordedText}`
  const diff = unifiedDiff(fullText(recorded), fullText(now), { from: 'recorded', to: 'now' })
  return diverged(what, { hint: recordAnew, diff })
}

/** The error of a replayed run that ended without making all recorded calls. */
function leftOver(calls: readonly { readonly place: string; readonly call: ComparedCall }[]): BatonError {
  const lines = calls.slice(0, 5).map(({ place, call }) => `  ${shortText(call)} at ${place}`)
  const more = calls.length > lines.length ? [`  and ${calls.length - lines.length} more`] : []
  const what = calls.length === 1 ? 'a call that was recorded' : `${calls.length} calls that were recorded`
  return diverged(`it ended without ${what}:\n${[...lines, ...more].join('\n')}`, { hint: recordAnew })
}

/** The error of a replayed run that reaches the point where its record ends. */
function brokenOff(place: string, call: ComparedCall | undefined): BatonError {
  const what = call === undefined ? '' : ` while it called ${shortText(call)}`
  return new BatonError('DIVERGED', `the recorded run was interrupted${what} at ${place}`, {
    hint: 'Finish it with baton resume, then replay it.',
  })
}

function diverged(what: string, details: { readonly hint: string; readonly diff?: string | undefined }): BatonError {
  return new BatonError('DIVERGED', `this run differs from its record: ${what}`, details)
}

function fullText({ name, request }: ComparedCall): string {
  return requestText({ call: name, with: request })
}

/** For a model call only the model, for a file change only the file: the rest is in the comparison. */
function shortText({ name, request }: ComparedCall): string {
  if (name === 'model' && isJsonObject(request)) return `model(${plainText(request['provider'] ?? null)})`
  if (name === 'file' && isJsonObject(request))
    return `file(${plainText(request['op'] ?? null)} ${plainText(request['path'] ?? null)})`
  return callText(name, request)
}

/**
 * Stops a replayed run at its first difference, so that the displayed error is that difference, with its line of a
 * script.
 */
interface FirstDifference {
  /** Throws if there was a difference. */
  readonly check: () => void
  /** Throws the difference, or a notice that there was an earlier one. */
  readonly stop: (place: string, error: BatonError) => never
  /** Runs the work of a boundary. A difference that was caught inside is thrown at its end. */
  readonly around: <T>(place: string, work: () => Promise<T>) => Promise<T>
  /** The difference for display; `thrown` is the error the run failed with, which may have more details. */
  readonly error: (thrown?: unknown) => BatonError | undefined
}

interface Found {
  readonly error: BatonError
  /** The innermost boundary it was found in. */
  readonly boundary: string | undefined
  /** Settles when the work of that boundary has ended. */
  readonly left: Promise<void>
}

function createFirstDifference(): FirstDifference {
  const active = new Map<string, Promise<void>>()
  let found: Found | undefined
  /** The difference with its script line, as thrown by the boundary around it. */
  let shown: BatonError | undefined

  function later(): BatonError {
    return new BatonError('DIVERGED', 'stopped, because another part of the run differs from its record')
  }

  /** Another part that stops must not end the run before the line of the difference is known. */
  async function failed(place: string, error: unknown): Promise<void> {
    if (found === undefined) return
    const { boundary, left } = found
    if (boundary === place && comesFrom(error, found.error)) shown ??= error
    else if (boundary !== undefined && !isWithin(place, boundary)) await left
  }

  return {
    check() {
      if (found !== undefined) throw later()
    },
    stop(place, error) {
      if (found !== undefined) throw later()
      const [boundary] = [...active.keys()]
        .filter((one) => isWithin(place, one))
        .toSorted((left, right) => right.length - left.length)
      found = {
        error,
        boundary,
        left: (boundary === undefined ? undefined : active.get(boundary)) ?? Promise.resolve(),
      }
      throw error
    },
    async around(place, work) {
      let leave = (): void => {}
      active.set(place, new Promise((resolve) => (leave = resolve)))
      try {
        const value = await work()
        if (found !== undefined) throw found.boundary === place ? found.error : later()
        return value
      } catch (error) {
        await failed(place, error)
        throw error
      } finally {
        active.delete(place)
        leave()
      }
    },
    error: (thrown) => (found !== undefined && comesFrom(thrown, found.error) ? thrown : (shown ?? found?.error)),
  }
}

function comesFrom(thrown: unknown, error: BatonError): thrown is BatonError {
  for (let cause = thrown; isBatonError(cause); cause = cause.cause) if (cause === error) return true
  return false
}

/**
 * A request as text for display, one item per line. Texts of several lines are kept, indented, so that a changed line
 * of a prompt is one changed line here. Meant for comparison, not for parsing. Ends with a line feed.
 */
function requestText(value: Json): string {
  return `${block(value, '').join('\n')}\n`
}

function block(value: Json, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) {
    return (value as readonly Json[]).flatMap((item) => named(`${indent}-`, item, `${indent}  `))
  }
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, item]) => named(`${indent}${key}:`, item, `${indent}  `))
  }
  return [`${indent}${plainText(value)}`]
}

function named(name: string, value: Json, indent: string): readonly string[] {
  if (typeof value === 'string' && value.includes('\n')) {
    return [`${name} |`, ...value.split('\n').map((line) => `${indent}${line}`)]
  }
  const isInline = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isInline ? [`${name} ${plainText(value)}`] : [name, ...block(value, indent)]
}
