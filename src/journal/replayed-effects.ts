import { setTimeout as wait } from 'node:timers/promises'
import { BatonError, messageOf } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import {
  type AskedCall,
  type AskedChange,
  type Disk,
  type Effects,
  type FileChangeRecord,
  keptContent,
} from '../event/effects.ts'
import { type Action, askedRequest, type Permission, type Permit } from '../event/permission.ts'
import { callPlace, originOf, part, type Place, placeText, withoutCall } from '../event/place.ts'
import { attempt, attemptAsync, type Attempt, passOn } from './attempt.ts'
import { modelOf } from './budget.ts'
import { brokenOff, createFirstDifference, differenceAt, leftOver } from './difference.ts'
import { allowedBy, permitOf } from './allowed.ts'
import { type ComparedCall, createMatcher, decodedComparison, type Match, type StartedRecord } from './matching.ts'
import type { RunIndex } from './run-index.ts'
import { noMask } from './secrets.ts'
import { isFinished, type Location, type PlaceNode } from './tree.ts'
import { unasked } from './unasked.ts'
import { encodeValue } from './value.ts'

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
const isAboutFiles = ({ name, reads }: AskedCall): boolean =>
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
  function recalled(at: Place, { name, args }: AskedCall, match: Match): Attempt<unknown> {
    const now = { name, request: args }
    if (match.kind === 'ended') return matcher.recall(match.outcome)
    if (match.kind !== 'other') return differ(at, now)
    return stop(at, differenceAt(placeText(at), { now: plain(now), recorded: callAt(match.at) }))
  }

  function count(kind: string, node: PlaceNode | undefined): void {
    if (node?.started !== undefined) answered.add(node.started)
    counts[kind] = (counts[kind] ?? 0) + 1
  }

  function recordedObservation(at: Place, call: AskedCall): Attempt<unknown> {
    return recalled(at, call, matcher.observation(answerOnly(nodeAt(at)), call))
  }

  function isLive({ name, ...call }: AskedCall, node: PlaceNode | undefined): boolean {
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
    if (match.kind === 'ended' && match.outcome.status === 'ok') return passOn(matcher.recall(match.outcome))
    const { choice } = match as { readonly choice?: PlaceNode['choice'] }
    if (choice === 'done' || choice === 'found') return assumed
    if (match.kind !== 'ended') {
      waitAgain(at, tree.find(placeText(at)))
      return stop(at, brokenOff(placeText(at), callAt(tree.find(placeText(at))?.started)))
    }
    if (match.outcome.status === 'cancelled') await wait(stoppedMs, undefined, signal && { signal })
    return passOn(matcher.recall(match.outcome))
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
    asked: AskedChange,
    plan: Parameters<Effects['changeFile']>[2],
  ): boolean {
    const node = nodeAt(at)
    const match = matcher.change(node, asked)
    if (match.kind === 'none' || match.kind === 'other') return differ(at, { name: 'file', request: asked })
    if (match.started === undefined) {
      if (match.kind === 'ended') passOn(matcher.recall(match.outcome))
      return false
    }
    count('file', node)
    if (match.kind === 'ended') passOn(matcher.recall(match.outcome))
    const change = source.value(match.started.request) as FileChangeRecord
    if (!givesContent.has(change.op)) {
      scratch.change(change, undefined)
      return true
    }
    const differs = (request: Json): never => differ(at, { name: 'file', request })
    const planned = attempt(() => plan(() => {}))
    if (planned.status === 'failed') return differs({ ...asked, refused: messageOf(planned.error) })
    if (planned.value === undefined) {
      if (change['content'] !== keptContent) return differs(asked)
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
    const match = matcher.effect(node, { kind: 'approval', request: askedRequest(action) })
    waitAgain(at, node)
    const permit = match.kind === 'ended' ? permitOf(action, matcher.recall(match.outcome)) : undefined
    if (permit !== undefined) count('approval', node)
    allowedBy(permission)(action, undefined, permit)
    return { action }
  }

  const under = (permission: Permission): Effects => ({
    observe(at, call, read) {
      const node = nodeAt(at)
      return isLive(call, node) ? read() : (passOn(recordedObservation(at, call)) as ReturnType<typeof read>)
    },

    async observeAsync(at, call, read) {
      const node = nodeAt(at)
      if (isLive(call, node)) return read(allowedBy(permission))
      return passOn(recordedObservation(at, call)) as Awaited<ReturnType<typeof read>>
    },

    answers: () => files.kind === 'recorded',
    // a replay reports everything
    wasDone: () => false,
    lacks: (at) => tree.find(placeText(at))?.started === undefined,
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
      const planned = plan(allowedBy(permission))
      planned?.act((path) => path)
      return planned !== undefined
    },

    async perform(at, { kind, request, action, assumed }, _, permit) {
      const node = nodeAt(at)
      signal?.throwIfAborted()
      if (permit === undefined) permitted(at, action, permission)
      else allowedBy(permission)(action, undefined, permit)
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
      const answer = (outcome: Attempt<unknown>): unknown => {
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
      const left = unasked(index, answered).flatMap(({ place, started }) => {
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
function answeredBy(work: () => unknown, answer: (outcome: Attempt<unknown>) => unknown): unknown {
  const outcome = attempt(work)
  if (outcome.status === 'failed' || !(outcome.value instanceof Promise)) return answer(outcome)
  return attemptAsync(() => outcome.value as Promise<unknown>).then(answer)
}

function notAsked(request: Json): BatonError {
  return new BatonError('MODEL_FAILED', `${modelOf(request)} was not called in the recorded run`)
}

function endHint({ records }: RunIndex): string | undefined {
  const end = records('run.end').at(-1)
  if (end === undefined) return 'The recorded run was interrupted before its end.'
  return end.exit === 0 ? undefined : `The recorded run failed with exit code ${end.exit}.`
}
