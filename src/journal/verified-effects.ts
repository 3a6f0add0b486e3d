import type { Json } from '../base/json.ts'
import {
  type AskedCall,
  type Effects,
  type FileChangeRecord,
  type Place,
  placeText,
  type PlannedChange,
} from '../event/effects.ts'
import { type Attempt, attempt, attemptAsync, passOn } from './attempt.ts'
import { boundaryEnd } from './boundary-end.ts'
import { boundaryKey, fingerprint } from './fingerprint.ts'
import type { RunJournal } from './journal.ts'
import type { Location, PlaceNode } from './place-tree.ts'
import type { Entry, JournalRecord, Outcome } from './record.ts'
import { recordedError } from './recorded-error.ts'
import { openError, revivedFrom } from './revive.ts'
import type { RunIndex } from './run-index.ts'
import { isSameValue } from './same-call.ts'
import { unreadFile } from './unread-file.ts'
import { always, changedText, modelOf, newText } from './why-changed.ts'

/** A part of an earlier run that has finished. */
export interface FinishedPart {
  readonly index: RunIndex
  /** Where it was then, as text. */
  readonly place: string
}

export interface VerifyOptions {
  readonly earlier: FinishedPart
  /** Where the part is now. */
  readonly at: Place
  readonly journal: Pick<RunJournal, 'mask' | 'note'>
  /** For what is not within the part: it happens whether the part is unchanged or not. */
  readonly live: Effects
  /** Whether a reading that differs counts as unchanged, because the earlier run itself has changed what was read. */
  readonly isOwnRead: (call: AskedCall, readings: { readonly before: unknown; readonly now: unknown }) => boolean
  /** Why a file change would not be what it was; undefined: it is done, and nothing has to be written. */
  readonly whyChangeAgain: (record: FileChangeRecord, plan: () => PlannedChange | undefined) => string | undefined
  /** Told once, when the part is known to be changed. */
  readonly onDirty: (reason: string) => void
}

/** A part that is looked at. */
export interface Verification {
  /** What the part is done with, for a look. */
  readonly effects: Effects
  /** Refuses the part from now on: every effect throws. */
  readonly refuse: (reason: string) => never
  /** Keeps something that is to be done once the part is known to be unchanged; see `commit`. */
  readonly later: (act: () => void) => void
  /** Why the part has to be done again; undefined while nothing differs. */
  readonly reason: () => string | undefined
  /** The text of a place as it was in the earlier run; undefined for a place that is not within the part. */
  readonly placeThen: (at: Place) => string | undefined
  /** Does what was kept, in order: with it the part is recorded as if it had been done now. */
  readonly commit: () => void
}

/** Observations that are taken from the record: they differ in every run, or belong to a change of files. */
const notCompared: ReadonlySet<string> = new Set([
  'math.randomseed',
  'run.number',
  'file_changes',
  'file_before',
  'file_undo',
])

/**
 * Effects that find out whether a part would do what it did in an earlier run, without doing anything: what it reads is
 * read and compared, a request to a model gets the recorded answer while it is the same, a file change that still stands
 * counts as done (DESIGN 13 "Watch"). At the first difference the part is refused: that call and all later ones throw, so
 * that nothing a script catches hides it.
 */
export function createVerification(options: VerifyOptions): Verification {
  const { earlier, at: part, journal, live, isOwnRead, whyChangeAgain, onDirty } = options
  const { tree, source } = earlier.index
  const { mask } = journal
  const prefix = placeText(part)
  const kept: (() => void)[] = []
  /** Calls whose place holds an observation of their own: the record of the call stands for both. */
  const readCalls = new Set<string>()
  /** Places then of what was read now. */
  const seen = new Set<string>()
  let dirty: { readonly reason: string; readonly error: Error } | undefined

  function refuse(reason: string): never {
    if (dirty === undefined) {
      dirty = { reason, error: new DOMException(reason, 'AbortError') }
      onDirty(reason)
    }
    throw dirty.error
  }

  function assertClean(): void {
    if (dirty !== undefined) throw dirty.error
  }

  function placeThen(at: Place): string | undefined {
    const text = placeText(at)
    const isWithin = text.startsWith(prefix) && ['', '/', '#'].includes(text.charAt(prefix.length))
    return isWithin ? earlier.place + text.slice(prefix.length) : undefined
  }

  function nodeOf(at: Place): PlaceNode | undefined {
    assertClean()
    const place = placeThen(at)
    return place === undefined ? undefined : tree.find(place)
  }

  function note(entry: Entry): void {
    kept.push(() => void journal.note(entry))
  }

  /** An effect with its two records; the second names the number of the first. */
  function noteEffect(started: Extract<Entry, { readonly k: 'started' }>, outcome: Outcome<unknown>): void {
    const { p, kind } = started
    kept.push(() => {
      const s = journal.note(started)
      journal.note({ k: 'ended', p, s, kind, ...outcome })
    })
  }

  function recorded(node: PlaceNode | undefined): JournalRecord | undefined {
    return node?.answer === undefined ? undefined : source.at(node.answer)
  }

  function recall(outcome: Outcome<Json>): Attempt<unknown> {
    return outcome.status === 'ok'
      ? { status: 'ok', value: source.value(outcome.value) }
      : { status: 'failed', error: revivedFrom(source, outcome.error) }
  }

  function isSame(outcome: Outcome<Json>, now: Attempt<unknown>): boolean {
    if (outcome.status !== 'ok') {
      return now.status === 'failed' && recordedError(now.error).message === openError(source, outcome.error).message
    }
    if (now.status === 'failed') return false
    if (outcome.value === undefined || now.value === undefined) return outcome.value === now.value
    return isSameValue(now.value, outcome.value, mask)
  }

  /** What was read now when it is what was read then, or the latter when only the run itself has changed it. */
  function compared(call: AskedCall, outcome: Outcome<Json>, now: Attempt<unknown>): Attempt<unknown> {
    assertClean()
    if (isSame(outcome, now)) return now
    const past = recall(outcome)
    const readings = { before: valueOf(past), now: valueOf(now) }
    return isOwnRead(call, readings) ? past : refuse(changedText(call))
  }

  function observe(at: Place, call: AskedCall, read: () => unknown): unknown {
    const record = recorded(nodeOf(at))
    seen.add(placeThen(at) ?? '')
    if (record?.k === 'call' && record.name === call.name) {
      readCalls.add(placeText(at))
      return settle(at, { call, k: 'obs' }, attempt(read))
    }
    if (record?.k !== 'obs' || record.name !== call.name) return refuse(newText(call))
    if (notCompared.has(call.name)) return settle(at, { call, k: 'obs' }, recall(record))
    if (!isSameValue(call.args, record.args, mask)) return refuse(newText(call))
    return settle(at, { call, k: 'obs' }, compared(call, record, attempt(read)))
  }

  function settle(
    at: Place,
    { call: { name, args }, k }: { readonly call: AskedCall; readonly k: 'obs' | 'call' },
    result: Attempt<unknown>,
  ): unknown {
    const p = placeText(at)
    note({ k, p, name, args, ...(result.status === 'ok' ? result : failure(result.error)) })
    return passOn(result)
  }

  function endCall(at: Place, call: AskedCall, now: Attempt<unknown>): unknown {
    assertClean()
    const record = readCalls.has(placeText(at)) ? recorded(nodeOf(at)) : undefined
    const result = record?.k === 'call' ? compared(call, record, now) : now
    return settle(at, { call, k: 'call' }, result)
  }

  function otherRequest(before: Location, request: Json): string {
    const gone = unreadFile(earlier.index, { below: earlier.place, before, isRead: (place) => seen.has(place) })
    return gone === undefined ? `its request to ${modelOf(request)} differs` : `${gone} is gone from its files`
  }

  const effects: Effects = {
    observe<T>(at: Place, call: AskedCall, read: () => T): T {
      if (placeThen(at) === undefined) return live.observe(at, call, read)
      return observe(at, call, read) as T
    },

    call<T>(at: Place, call: AskedCall, work: () => T | Promise<T>): T | Promise<T> {
      assertClean()
      const result = attempt(work)
      if (result.status === 'ok' && result.value instanceof Promise) {
        return attemptAsync(() => result.value as Promise<T>).then((end) => endCall(at, call, end) as T)
      }
      return endCall(at, call, result) as T
    },

    changeFile(at, asked, plan) {
      const node = nodeOf(at)
      if (node === undefined) return refuse(`it changes ${asked.path}, which it did not before`)
      if (node.started === undefined) {
        // nothing was to be changed then
        const planned = attempt(plan)
        if (planned.status === 'ok' && planned.value !== undefined) return refuse(`${asked.path} was changed since`)
        note({ k: 'obs', p: placeText(at), name: 'file.change', args: asked, ...outcomeOf(planned) })
        passOn(planned)
        return false
      }
      const started = source.at(node.started)
      if (started.k !== 'started' || started.kind !== 'file' || started.fp !== fingerprint(asked, mask)) {
        return refuse(`it changes ${asked.path}, which it did not before`)
      }
      if (node.isOk !== true) return refuse(`it could not change ${asked.path}`)
      const request = source.value(started.request) as FileChangeRecord
      const why = whyChangeAgain(request, plan)
      if (why !== undefined) return refuse(why)
      const { kind, repeat, fp } = started
      noteEffect({ k: 'started', p: placeText(at), kind, repeat, fp, request }, { status: 'ok' })
      return true
    },

    async perform<T>(at: Place, { kind, request, repeat }: Parameters<Effects['perform']>[1]): Promise<T> {
      if (kind !== 'model') return refuse(always[kind])
      const node = nodeOf(at)
      const started = node?.started === undefined ? undefined : source.at(node.started)
      const ended = node?.ended === undefined ? undefined : source.at(node.ended)
      const fp = fingerprint(request, mask)
      if (started?.k !== 'started' || ended?.k !== 'ended') return refuse(`it asks ${modelOf(request)} anew`)
      if (started.fp !== fp) return refuse(otherRequest(node?.started ?? 0, request))
      const result = recall(ended)
      if (result.status === 'failed' && !tree.goesOn(placeThen(at) ?? '')) {
        return refuse(`${modelOf(request)} had failed`)
      }
      const outcome = result.status === 'ok' ? { ...result, cost: free } : failure(result.error)
      noteEffect({ k: 'started', p: placeText(at), kind, repeat, fp, request }, outcome)
      return passOn(result) as T
    },

    async boundary(at, work, options = {}) {
      assertClean()
      const p = placeText(at)
      const { inputs = {}, label } = options
      note({ k: 'begin', p, key: boundaryKey(inputs, mask), ...(label !== undefined && { label }) })
      const result = await attemptAsync(work)
      assertClean()
      const end = boundaryEnd(p, result, options)
      if (end !== undefined) note(end)
      return passOn(result)
    },
  }

  return {
    effects,
    refuse,
    later: (act) => void kept.push(act),
    reason: () => dirty?.reason,
    placeThen,
    commit() {
      for (const act of kept) act()
    },
  }
}

/** An answer that is read back was paid for by the run that got it. */
const free = { calls: 0, tokens: 0, usd: 0 }

function outcomeOf(result: Attempt<unknown>): Outcome<unknown> {
  return result.status === 'ok' ? result : failure(result.error)
}

function failure(error: unknown): Outcome<never> {
  return { status: 'error', error: recordedError(error) }
}

function valueOf(result: Attempt<unknown>): unknown {
  return result.status === 'ok' ? result.value : undefined
}
