import { BatonError } from '../base/error.ts'
import { canonicalJson } from '../base/json.ts'
import { type CallRequest, decorate, type Effects } from '../event/effects.ts'
import { legacyInputs } from '../event/limits.ts'
import type { Spent } from '../event/meter.ts'
import { parsePlace, part, type Place, placeText, withoutCall } from '../event/place.ts'
import { unwrap } from './work-result.ts'
import { callText } from './call-text.ts'
import { chosenError } from './uncertain.ts'
import { withoutDetails } from '../event/permission.ts'
import { permitOf } from './permission-check.ts'
import { openError } from './recorded-error.ts'
import { finishBoundary, recordCall } from './recorded-work.ts'
import type { RunJournal } from './journal.ts'
import {
  boundaryKey,
  createMatcher,
  isSameKey,
  keyAsRecorded,
  maskedComparison,
  type Match,
  type StartedRecord,
  textsIn,
} from './matching.ts'
import type { JournalRecord, RecordOf } from './record.ts'
import type { RunIndex } from './run-index.ts'
import type { SecretMask } from './secrets.ts'
import { belongsTo, type Location, type PlaceNode, showsBelow } from './tree.ts'
import { encodeValue, timeless } from './value.ts'

/** An effect that was in progress when a run was interrupted, and that is repeated. */
export interface Repeated {
  /** `EPOCH.N` of its `started` record. */
  readonly id: string
  readonly place: string
  readonly kind: string
}

/** An effect that failed at an unknown point, and that is repeated. */
interface Retried {
  readonly at: Place
  readonly error: string
}

/** A file whose content was answered from a record and has changed since. */
export interface StaleRead {
  readonly at: Place
  /** As passed to the call. */
  readonly path: string
  /** The part that has to be rerun so that the file is read again. */
  readonly boundary: string
}

export interface ResumeOptions {
  readonly index: RunIndex
  /** The journal of the resuming process. */
  readonly journal: RunJournal
  readonly live: Effects
  /** Called for each repeated effect. */
  readonly onRepeat: (repeated: Repeated) => void
  /** Called for a failed effect that may have done something before it failed (`ended`). */
  readonly onRetry?: (retried: Retried) => void
  /** Called for what was shown in a boundary that is reused. */
  readonly onShow: OnShow
  /** Called with the usage of a model call that is answered from the record. */
  readonly onRecall: (at: Place, spent: Spent) => void
  /** Called if a file that was answered from the record has changed since. */
  readonly onStale?: (stale: StaleRead) => void
  /** Calls outside any boundary follow the current sources (`--use-current`). */
  readonly usesCurrent: boolean
}

/** An answer from the record; undefined: the call is made. */
type Answer<T> = { readonly value: T } | undefined

/**
 * Effects of a resumed run: the records of older epochs are the answers, as long as the calls match; everything else
 * goes live. A finished boundary is reused if its inputs are the same, otherwise rerun. Recorded errors are answers
 * only if the work continued after them; otherwise the call is made again. See docs/design/matching.md.
 * @throws BatonError DIVERGED, UNCERTAIN from any of its methods, and from all of them once one was thrown
 */
export function createResumedEffects(options: ResumeOptions): Effects {
  const { index, journal, onRepeat, onRetry, onShow, onRecall, onStale, usesCurrent } = options
  const { tree, source } = index
  const matcher = createMatcher(index, maskedComparison(index, journal.mask))
  const shown = createShownAgain(index, onShow)
  let stopped: BatonError | undefined

  function stop(error: BatonError): never {
    stopped ??= error
    throw stopped
  }

  function refuseStopped(): void {
    if (stopped !== undefined) throw stopped
  }

  /** A script may catch the error that stops the run; its result does not count then. */
  function unlessStopped<T>(work: () => Promise<T>): () => Promise<T> {
    return async () => {
      const value = await work()
      refuseStopped()
      return value
    }
  }

  function nodeOf(p: string): PlaceNode | undefined {
    refuseStopped()
    return tree.find(p)
  }

  /** Refuses a call that differs from the recorded one. Returns undefined if the place goes live instead. */
  function disagree(p: string, now: string, recorded: Location): undefined {
    const boundary = tree.boundaryAround(p)
    if (usesCurrent && boundary === undefined) return tree.reopen(p) as undefined
    const record = source.at(recorded)
    const text =
      record.k === 'started'
        ? callText(record.kind, record.request)
        : record.k === 'obs' || record.k === 'call'
          ? callText(record.name, record.args)
          : 'nothing'
    return stop(
      new BatonError(
        'DIVERGED',
        `this run diverged from its record: at ${p} it calls ${now}, but the record has ${text}`,
        {
          hint: `Rerun that part with --from ${boundary ?? p}; its paid calls are paid for again.`,
        },
      ),
    )
  }

  /** The answer of a match. A recorded error is an answer if the work continued after it. */
  function answerOf<T>(p: string, match: Match, now: () => string): Answer<T> {
    switch (match.kind) {
      case 'none':
      case 'open':
        return undefined
      case 'other':
        return disagree(p, now(), match.at)
      case 'ended': {
        const { outcome } = match
        if (outcome.status !== 'ok' && !tree.goesOn(p)) return undefined
        return { value: unwrap(matcher.recall(outcome)) as T }
      }
    }
  }

  /** Whether a call at this place is made again: what it did before then answers what it does now. */
  function isMadeAgain(p: string, node: PlaceNode | undefined): boolean {
    if (node?.returned === undefined || node.started !== undefined) return false
    const record = source.at(node.returned)
    return record.k === 'call' && record.status !== 'ok' && !tree.goesOn(p)
  }

  function observed<T>(at: Place, asked: CallRequest): Answer<T> {
    const p = placeText(at)
    const node = nodeOf(p)
    if (node?.answer === undefined && isMadeAgain(p, node)) return undefined
    return answerOf(p, matcher.observation(node, asked), () => callText(asked.name, asked.args))
  }

  /** Reports a file that has changed since it was recorded. */
  function checkStale(at: Place, { reads }: CallRequest, isStale: () => boolean): void {
    if (onStale === undefined || reads === undefined || !isStale()) return
    const p = placeText(at)
    onStale({ at, path: reads, boundary: tree.boundaryAround(p) ?? p })
  }

  function repeat(p: string, { e, n, kind }: StartedRecord): undefined {
    onRepeat({ id: `${e}.${n}`, place: p, kind })
  }

  function uncertain(p: string, { e, n, kind }: StartedRecord): never {
    const hint = `Check, then resume with --uncertain ${e}.${n}=redo, =done or =fail.`
    return stop(new BatonError('UNCERTAIN', `it is not known whether the ${kind} at ${p} happened`, { hint }))
  }

  /** The end of an effect that counts; undefined if the effect has to be done or repeated. */
  function endOf<T>(
    p: string,
    match: Match,
    { now, assumed }: { readonly now: () => string; readonly assumed: Answer<T> },
  ): Answer<T> {
    if (match.kind === 'none' || match.kind === 'other') return answerOf(p, match, now)
    const { started, choice } = match
    if (started === undefined) return answerOf(p, match, now)
    if (match.kind === 'ended' && (match.outcome.status === 'ok' || choice === undefined)) {
      const answer = answerOf<T>(p, match, now)
      if (answer !== undefined) return answer
      if (started.repeat === 'unsafe') return uncertain(p, started)
      // a call that was stopped halfway may have been paid for
      if (match.outcome.status === 'cancelled') return repeat(p, started)
      if (started.repeat === 'ended' && match.outcome.status !== 'ok') {
        onRetry?.({ at: parsePlace(p), error: openError(source, match.outcome.error).message })
      }
      return undefined
    }
    if (choice === 'missing') return repeat(p, started)
    if (choice === 'fail' || choice === 'tell') throw chosenError(choice, p, started)
    if (choice !== undefined) return assumed ?? uncertain(p, started)
    if (match.kind === 'open' && match.waits) return undefined
    return started.repeat === 'safe' ? repeat(p, started) : uncertain(p, started)
  }

  /** The texts of all requests to models at and below a place. */
  function saidBelow(p: string): readonly string[] {
    const below = [...index.modelStarts()].filter((record) => belongsTo(record.p, p))
    return below.flatMap(({ request }) => textsIn(source.value(request)))
  }

  return decorate(options.live, (live) => {
    const effects: Omit<Effects, 'flush' | 'under'> = {
      observe(at, call, read) {
        const answer = observed<ReturnType<typeof read>>(at, call)
        if (answer === undefined) return live.observe(at, call, read)
        checkStale(at, call, () => !isSameContent(read, answer.value, journal.mask))
        return answer.value
      },

      async observeAsync(at, call, read) {
        const answer = observed<Awaited<ReturnType<typeof read>>>(at, call)
        return answer === undefined ? live.observeAsync(at, call, read) : answer.value
      },

      answers(at) {
        const p = placeText(at)
        const node = tree.find(p)
        return node?.answer !== undefined || effects.wasDone(at) || (node?.ended !== undefined && tree.goesOn(p))
      },

      wasDone(at) {
        const node = tree.find(placeText(at))
        const ended = node?.ended === undefined ? undefined : source.at(node.ended)
        return ended?.k === 'ended' && ended.status === 'ok'
      },

      requested(at) {
        const request = matcher.requestAt(tree.find(placeText(at)))
        return request === undefined
          ? undefined
          : { request, sources: usesCurrent ? 'current' : 'recorded', files: 'recorded' }
      },

      async permit(at, action) {
        const p = placeText([...at, part('approval')])
        const match = matcher.effect(nodeOf(p), { kind: 'approval', request: withoutDetails(action) })
        if (match.kind === 'ended' && match.outcome.status === 'ok')
          return permitOf(action, matcher.recall(match.outcome))
        // a decision about a different call does not apply to this one, and neither does its waiting time
        const isOpen = match.kind === 'open' || (match.kind === 'ended' && match.outcome.status === 'cancelled')
        return live.permit(at, action, isOpen ? (match.started?.asked ?? match.started?.t) : undefined)
      },

      call(at, asked, work) {
        const p = placeText(at)
        const match = matcher.returned(nodeOf(p), asked)
        const answer = answerOf<Awaited<ReturnType<typeof work>>>(p, match, () => callText(asked.name, asked.args))
        if (answer === undefined) return live.call(at, asked, () => recordCall(work, refuseStopped))
        shown.ofCall(at)
        return answer.value
      },

      changeFile(at, asked, plan, permit) {
        const p = placeText(at)
        const match = matcher.change(nodeOf(p), asked)
        const now = (): string => callText('file', asked)
        // what the disk shows about it has been recorded by now
        if (match.kind === 'open' && match.choice === undefined) return uncertain(p, match.started)
        const answer = endOf(p, match, { now, assumed: { value: undefined } })
        if (answer === undefined) return live.changeFile(at, asked, plan, permit)
        return match.kind !== 'ended' || match.started !== undefined
      },

      async perform(at, effect, act, permit) {
        const p = placeText(at)
        const match = matcher.effect(nodeOf(p), effect)
        const now = (): string => callText(effect.kind, effect.request)
        const { assumed, costOf } = effect
        const answer = endOf(p, match, { now, assumed: assumed === undefined ? undefined : { value: assumed } })
        if (answer === undefined) {
          // an approval of an older epoch still applies
          return live.perform(at, effect, act, permit ?? (await effects.permit(at, effect.action)))
        }
        if (costOf !== undefined) onRecall(at, costOf(answer.value))
        return answer.value
      },

      async boundary(at, work, boundary = {}) {
        const p = placeText(at)
        const node = nodeOf(p)
        const { inputs = {}, partInputs = [], ownInputs = [] } = boundary
        const begin = node?.begin === undefined ? undefined : source.at(node.begin)
        const keyOf = (given: typeof inputs) =>
          keyAsRecorded(
            begin,
            { inputs: given, key: boundaryKey(given, journal.mask) },
            { said: () => saidBelow(p), mask: journal.mask },
          )
        const key = keyOf(inputs)
        const isSame = (record: JournalRecord, except: readonly string[]): boolean =>
          isSameKey(record, key, except) || isSameKey(record, keyOf(legacyInputs(inputs) as typeof inputs), except)
        // with the recorded sources, only this program can make them different
        const except = usesCurrent ? [] : ownInputs
        if (node === undefined || begin === undefined || !isSame(begin, [...partInputs, ...except])) {
          tree.reopen(p)
          return live.boundary(at, unlessStopped(work), boundary)
        }
        if (partInputs.length > 0 && !isSame(begin, except)) {
          tree.unfinish(p)
          journal.note({ k: 'begin', p, key, label: boundary.label, below: 'kept' })
        }
        const again = node.doneAgain === undefined ? undefined : source.at(node.doneAgain)
        if (again?.k === 'done') boundary.onDoneAgain?.(source.value(again.value) as Awaited<ReturnType<typeof work>>)
        if (node.done === undefined) return finishBoundary(journal, p, { ...boundary, work: unlessStopped(work) })
        const done = source.at(node.done)
        shown.ofBoundary(node)
        return (done.k === 'done' ? source.value(done.value) : undefined) as Awaited<ReturnType<typeof work>>
      },

      undo(at) {
        if (nodeOf(placeText(at))?.isUndone !== true) live.undo(at)
      },

      again(at) {
        const p = placeText(at)
        if (nodeOf(p)?.isUndone !== true) return false
        journal.note({ k: 'again', p })
        tree.reopen(p)
        return true
      },
    }
    return effects
  })
}

/** Whether reading returns the recorded value, ignoring the times of files. */
function isSameContent(read: () => unknown, recorded: unknown, mask: SecretMask): boolean {
  const text = (value: unknown): string => canonicalJson(timeless(encodeValue(value, mask.mask)))
  try {
    return text(read()) === text(recorded)
  } catch {
    // it can no longer be read
    return false
  }
}

/** Called for each event that is shown again. */
type OnShow = (record: RecordOf<'show'>) => void

/** Replays, in order, the events of parts that are answered from a record and not done again. */
interface ShownAgain {
  /** Replays what a call has shown: below its place, and in its section before it returned. */
  readonly ofCall: (at: Place) => void
  /** Replays what was shown in a boundary that is reused. */
  readonly ofBoundary: (node: PlaceNode) => void
}

function createShownAgain({ tree, source, shows }: RunIndex, onShow: OnShow): ShownAgain {
  /** How much of each unfinished section was shown again. */
  const shownIn = new Map<PlaceNode, number>()

  function show(record: JournalRecord): void {
    if (record.k === 'show') onShow(record)
  }

  return {
    ofCall(at) {
      const section = tree.find(placeText(withoutCall(at)))
      const node = tree.find(placeText(at))
      if (section === undefined || node?.returned === undefined) return
      const own = section.shows ?? []
      const first = shownIn.get(section) ?? 0
      let end = first
      while ((own[end] ?? Infinity) < node.returned) end += 1
      shownIn.set(section, end)
      const below = [...own.slice(first, end), ...showsBelow(node)]
      for (const location of below.toSorted((left, right) => left - right)) show(source.at(location))
    },
    ofBoundary(node) {
      for (const record of shows(node)) show(record)
    },
  }
}
