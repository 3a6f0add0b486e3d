import { setTimeout as wait } from 'node:timers/promises'
import { BatonError } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import { type Effects, hostCallPlace, type Place, placeText } from '../event/effects.ts'
import { attempt, passOn, type Attempt } from './attempt.ts'
import { brokenOff, leftOver } from './difference.ts'
import type { ReplayEntry, ReplayIndex } from './replay-index.ts'
import { createReplayRecord, isSame } from './replay-record.ts'
import { createReplayedChanges, type ScratchFiles } from './replayed-changes.ts'
import type { StartedRecord } from './uncertain.ts'

export interface ReplayOptions {
  readonly index: ReplayIndex
  readonly signal: AbortSignal | undefined
  /**
   * `recorded`: what was read is served from the record, changes go to `scratch`. `live`: files are read and changed
   * where they are; only what is not about files comes from the record.
   */
  readonly files: { readonly kind: 'recorded'; readonly scratch: ScratchFiles } | { readonly kind: 'live' }
}

export interface ReplayedEffects {
  readonly effects: Effects
  /** The first difference, once there was one; `thrown` is what the run failed with. */
  readonly difference: (thrown?: unknown) => BatonError | undefined
  /** What was recorded and not asked for, as a difference; undefined when all was. */
  readonly leftOver: () => BatonError | undefined
  /** How many effects were answered, by kind. */
  readonly counts: Readonly<Record<string, number>>
}

/** Code is read from the disk: a replay shows what a change of it does. */
const isSource = (name: string): boolean => name === 'require'
/** An agent that was added has a number as well, and differs by what it does. */
const isCount = (name: string): boolean => name === 'run.number'
const isAboutFiles = (name: string): boolean =>
  /^(?:aip\.(?:file|path|pdf|udiffx|zip)\.|file[._]|attachment$)/.test(name)
/** Host functions that give what is on the disk behind their effects. */
const isFileCall = (name: string): boolean => /^aip\.(?:file|pdf|udiffx|zip)\./.test(name)
/** A call that was stopped because another one failed waits for that one to fail here too. */
const stoppedMs = 200
/** More models than anyone names for one call. */
const mostModels = 32

/**
 * Effects of a run that is replayed (DESIGN 11 "Replay"): observations and effects are answered by place while they are
 * what was recorded; boundaries and calls do their work again. Nothing is asked, paid, waited for or changed outside.
 * @throws BatonError DIVERGED from any of its methods at the first difference, and from all of them from then on
 */
export function createReplayedEffects({ index, signal, files }: ReplayOptions): ReplayedEffects {
  const { source, entries } = index
  const record = createReplayRecord(index)
  const { first, entryAt } = record
  const changeRecorded =
    files.kind === 'live' ? undefined : createReplayedChanges({ index, record, scratch: files.scratch })

  async function endOf(
    at: Place,
    { ended, choice }: ReplayEntry,
    { started, assumed }: { readonly started: StartedRecord; readonly assumed: unknown },
  ): Promise<unknown> {
    const end = ended === undefined ? undefined : source.at(ended)
    if (end?.k === 'ended' && end.status === 'ok') return source.value(end.value)
    if (choice === 'done' || choice === 'found') return assumed
    if (end?.k !== 'ended') return first.stop(placeText(at), brokenOff(placeText(at), record.callOf(started)))
    if (end.status === 'cancelled') await wait(stoppedMs, undefined, signal && { signal })
    throw record.errorOf(end.error)
  }

  /** Models that rested, or had no key, were left out in favour of the others of their list. */
  function wasLeftOut(at: Place): boolean {
    const section = [...at.slice(0, -1), (at.at(-1) ?? '').replace(/#\d+$/, '')]
    return Array.from({ length: mostModels }, (_, number) => placeText(hostCallPlace(section, number))).some(
      (place) => entries.get(place)?.started !== undefined,
    )
  }

  const effects: Effects = {
    observe(at, call, read) {
      const entry = entryAt(at)
      if (isSource(call.name) || (isCount(call.name) && entry?.observed === undefined)) return read()
      if (files.kind === 'live' && isAboutFiles(call.name)) return read()
      return passOn(record.answerOf(at, call, entry?.observed)) as ReturnType<typeof read>
    },

    answers: () => files.kind === 'recorded',

    changeFile(at, asked, plan) {
      if (changeRecorded !== undefined) return changeRecorded(at, asked, plan)
      first.check()
      const planned = plan()
      planned?.act((path) => path)
      return planned !== undefined
    },

    async perform(at, { kind, request, assumed }) {
      const entry = entryAt(at)
      signal?.throwIfAborted()
      if (entry?.started === undefined) {
        if (kind === 'model' && wasLeftOut(at)) throw notAsked(request)
        return record.differ(at, { name: kind, request }, entry)
      }
      const started = source.at(entry.started) as StartedRecord
      if (started.kind !== kind || !isSame(request, source.value(started.request))) {
        return record.differ(at, { name: kind, request }, entry)
      }
      record.count(kind, entry.started)
      return (await endOf(at, entry, { started, assumed })) as never
    },

    boundary: (at, work) =>
      first.around(placeText(at), async () => {
        first.check()
        return work()
      }),

    call(at, asked, work) {
      const entry = entryAt(at)
      if (files.kind === 'live' || !isFileCall(asked.name) || entry?.called === undefined) return work()
      const recorded = record.answerOf(at, asked, entry.called)
      const answer = (outcome: Attempt<unknown>): unknown => {
        first.check()
        if (recorded.status === 'ok') return recorded.value
        throw outcome.status === 'failed' ? outcome.error : recorded.error
      }
      return answered(work, answer) as ReturnType<typeof work>
    },
  }

  return {
    effects,
    difference: first.error,
    counts: record.counts,
    leftOver() {
      const left = [...entries].flatMap(([place, { started, status }]) => {
        if (started === undefined || record.wasAnswered(started)) return []
        if (status === undefined || status === 'cancelled' || isTranscript(place)) return []
        const call = record.callOf(source.at(started))
        return call === undefined || (files.kind === 'live' && call.name === 'file') ? [] : [{ place, call }]
      })
      return left.length === 0 ? undefined : leftOver(left)
    },
  }
}

/** Does the work, which may return at once or later, and gives the answer in place of what came of it. */
function answered(work: () => unknown, answer: (outcome: Attempt<unknown>) => unknown): unknown {
  const outcome = attempt(work)
  if (outcome.status === 'failed' || !(outcome.value instanceof Promise)) return answer(outcome)
  return outcome.value.then(
    (value: unknown) => answer({ status: 'ok', value }),
    (error: unknown) => answer({ status: 'failed', error }),
  )
}

/** What a person reads below the `====` line is written by runs, not by replays. */
function isTranscript(place: string): boolean {
  return place.startsWith('transcript/')
}

function notAsked(request: Json): BatonError {
  const provider = isObject(request) ? request['provider'] : undefined
  const label = typeof provider === 'string' ? provider : 'the model'
  return new BatonError('MODEL_FAILED', `${label} was not asked in the recorded run`)
}
