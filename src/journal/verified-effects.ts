import type { Json } from '../base/json.ts'
import type {
  Allow,
  CallRequest,
  EffectKind,
  EffectRequest,
  Effects,
  FileChangeRecord,
  PlanChange,
} from '../event/effects.ts'
import type { Permission } from '../event/permission.ts'
import type { Spent } from '../event/meter.ts'
import { isWithin, originOf, type Place, placeText } from '../event/place.ts'
import { type WorkResult, capture, captureAsync, unwrap } from './work-result.ts'
import { modelOf } from './budget.ts'
import { permissionCheck } from './permission-check.ts'
import { observationOutcome, recordCall } from './recorded-work.ts'
import type { RunJournal } from './journal.ts'
import { boundaryKey, changeName, createMatcher, maskedComparison, type StartedRecord } from './matching.ts'
import type { Entry, Outcome } from './record.ts'
import { cutMessage } from '../base/error.ts'
import { boundaryEnd, openError, recordedError } from './recorded-error.ts'
import type { RunIndex } from './run-index.ts'
import { type Location, type PlaceNode, stepsBelow } from './tree.ts'
import { callText } from './call-text.ts'

/** A finished part of an earlier run. */
export interface FinishedPart {
  readonly index: RunIndex
  /** Its place in that run, as text. */
  readonly place: string
}

export interface VerifyOptions {
  readonly earlier: FinishedPart
  /** The current place of the part. */
  readonly at: Place
  readonly journal: Pick<RunJournal, 'mask' | 'note'>
  /** For calls outside the part: they are made whether the part is unchanged or not. */
  readonly live: Effects
  /** Checks reads during verification. */
  readonly permission: Permission
  /** Whether a different reading counts as unchanged, because the earlier run itself changed what was read. */
  readonly isOwnRead: (call: CallRequest, readings: { readonly before: unknown; readonly now: unknown }) => boolean
  /** Why a file change would differ from the earlier one; undefined: it is in place, and nothing has to be written. */
  readonly whyChangeAgain: (record: FileChangeRecord, plan: PlanChange) => string | undefined
  /** Called with the usage of a model call that is answered from the record. */
  readonly onRecall: (at: Place, spent: Spent) => void
  /** Called once, when the part is known to have changed. */
  readonly onDirty: (reason: string) => void
}

/** A part that is being verified. */
export interface Verification {
  /** The effects to run the part with during verification. */
  readonly effects: Effects
  /** Rejects the part from now on: every effect throws. */
  readonly refuse: (reason: string) => never
  /** Defers an action until the part is known to be unchanged; see `commit`. */
  readonly later: (act: () => void) => void
  /** Why the part has to be repeated; undefined while nothing differs. */
  readonly reason: () => string | undefined
  /** The place in the earlier run, as text; undefined for a place outside the part. */
  readonly placeThen: (at: Place) => string | undefined
  /** Runs the deferred actions, in order: they record the part as if it had been done now. */
  readonly commit: () => void
}

/** Observations that are taken from the record: they differ in every run, or belong to a file change. */
const notCompared: ReadonlySet<string> = new Set([
  'math.randomseed',
  'run.number',
  'file_changes',
  'file_before',
  'file_undo',
])

/** A reused answer was paid for by the run that got it. */
const free = { calls: 0, tokens: 0, usd: 0 }

/**
 * Effects that find out whether a part would do the same as in an earlier run, without doing anything: what it reads is
 * read and compared, a model request gets the recorded answer if it is the same, a file change that is still in place
 * counts as done. At the first difference the part is rejected: that call and all later ones throw, so that a script
 * cannot hide the difference by catching it.
 */
export function createVerification(options: VerifyOptions): Verification {
  const { earlier, at: part, journal, live, isOwnRead, whyChangeAgain, onRecall, onDirty } = options
  const { index } = earlier
  const { tree, source } = index
  const { mask } = journal
  const comparison = maskedComparison(index, mask)
  const matcher = createMatcher(index, comparison)
  const prefix = placeText(part)
  const kept: (() => void)[] = []
  /** The earlier places of what was read now. */
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

  /**
   * A conversation of a step is stored next to it; steps are identified by their place, so it had the same place then.
   */
  function placeThen(at: Place): string | undefined {
    const text = placeText(at)
    if (isWithin(text, prefix)) return earlier.place + text.slice(prefix.length)
    return earlier.place === prefix && isWithin(placeText(originOf(at)), prefix) ? text : undefined
  }

  function nodeOf(at: Place): PlaceNode | undefined {
    assertClean()
    const place = placeThen(at)
    return place === undefined ? undefined : tree.find(place)
  }

  function note(entry: Entry): void {
    kept.push(() => void journal.note(entry))
  }

  /** Records an effect with its two records; the second refers to the number of the first. */
  function noteEffect(at: Place, { kind, repeat, fp, request }: StartedRecord, outcome: Outcome<unknown>): void {
    const p = placeText(at)
    const opened = source.value(request)
    kept.push(() => {
      const s = journal.note({ k: 'started', p, kind, repeat, fp, request: opened })
      journal.note({ k: 'ended', p, s, kind, ...outcome })
    })
  }

  function isSame(outcome: Outcome<Json>, now: WorkResult<unknown>): boolean {
    if (outcome.status !== 'ok') {
      // earlier versions recorded messages of any length
      const [left, right] = [now.status === 'failed' && recordedError(now.error), openError(source, outcome.error)]
      return left !== false && cutMessage(left.message) === cutMessage(right.message)
    }
    if (now.status === 'failed') return false
    if (outcome.value === undefined || now.value === undefined) return outcome.value === now.value
    return comparison.isSameValue(now.value, outcome.value)
  }

  /** The current reading if it equals the earlier one, or the earlier one if only the run itself changed it. */
  function compared(call: CallRequest, outcome: Outcome<Json>, now: WorkResult<unknown>): WorkResult<unknown> {
    assertClean()
    if (isSame(outcome, now)) return now
    const past = matcher.recall(outcome)
    const readings = { before: valueOf(past), now: valueOf(now) }
    return isOwnRead(call, readings) ? past : refuse(changedText(call))
  }

  /** The earlier result of an observation. Rejects one that was not made then, or with other arguments. */
  function past(at: Place, call: CallRequest): Outcome<Json> {
    const node = nodeOf(at)
    seen.add(placeThen(at) ?? '')
    const record = node?.answer === undefined ? undefined : source.at(node.answer)
    if (record?.k !== 'obs' || record.name !== call.name) return refuse(newText(call))
    if (!notCompared.has(call.name) && !comparison.isSameValue(call.args, record.args)) return refuse(newText(call))
    return record
  }

  function settle(at: Place, { name, args, reads }: CallRequest, result: WorkResult<unknown>): unknown {
    note({ k: 'obs', p: placeText(at), name, args, reads, ...observationOutcome(result) })
    return unwrap(result)
  }

  function otherRequest(before: Location, request: Json): string {
    const gone = fileOnlyReadThen(before)
    return gone === undefined ? `its request to ${modelOf(request)} differs` : `${gone} is no longer among its files`
  }

  /** A file that was part of the prompt then, and is not now. */
  function fileOnlyReadThen(before: Location): string | undefined {
    function search(node: PlaceNode, place: string): string | undefined {
      for (const [at, below] of stepsBelow(node, place)) {
        const location = typeof below === 'number' ? Math.max(0, below) : below.answer
        const record = location && location < before && !seen.has(at) ? source.at(location) : undefined
        if (record?.k === 'obs' && record.reads !== undefined) return String(source.value(record.reads))
        const found = typeof below === 'number' ? undefined : search(below, at)
        if (found !== undefined) return found
      }
      return undefined
    }
    const node = tree.find(earlier.place)
    return node === undefined ? undefined : search(node, earlier.place)
  }

  const under = (permission: Permission): Effects => ({
    observe<T>(at: Place, call: CallRequest, read: () => T): T {
      if (placeThen(at) === undefined) return live.observe(at, call, read)
      const outcome = past(at, call)
      const result = notCompared.has(call.name) ? matcher.recall(outcome) : compared(call, outcome, capture(read))
      return settle(at, call, result) as T
    },

    async observeAsync<T>(at: Place, call: CallRequest, read: (allow: Allow) => Promise<T>): Promise<T> {
      if (placeThen(at) === undefined) return live.observeAsync(at, call, read)
      const outcome = past(at, call)
      const isCompared = !notCompared.has(call.name)
      const result = isCompared
        ? compared(call, outcome, await captureAsync(() => read(permissionCheck(permission))))
        : matcher.recall(outcome)
      return settle(at, call, result) as T
    },

    answers: () => false,
    wasDone: () => false,
    requested(at) {
      const place = placeThen(at)
      const request = place === undefined ? undefined : matcher.requestAt(tree.find(place))
      return request === undefined ? undefined : { request, sources: 'current', files: 'current' }
    },

    permit: () => refuse(always.approval),

    call<T>(at: Place, { name, args }: CallRequest, work: () => T | Promise<T>): T | Promise<T> {
      assertClean()
      return recordCall(work, (result) => {
        assertClean()
        note({ k: 'call', p: placeText(at), name, args, ...observationOutcome(result) })
      })
    },

    changeFile(at, asked, plan) {
      const match = matcher.change(nodeOf(at), asked)
      const isNew = match.kind === 'none' || match.kind === 'other'
      if (isNew) return refuse(`it changes ${asked.path}, which it did not before`)
      if (match.started === undefined) {
        // nothing was to be changed then
        const planned = capture(() => plan(() => {}))
        if (planned.status === 'ok' && planned.value !== undefined) return refuse(`${asked.path} has changed since`)
        settle(at, { name: changeName, args: asked }, planned)
        return false
      }
      if (match.kind === 'open' || match.outcome.status !== 'ok') return refuse(`it could not change ${asked.path}`)
      const why = whyChangeAgain(source.value(match.started.request) as FileChangeRecord, plan)
      if (why !== undefined) return refuse(why)
      noteEffect(at, match.started, { status: 'ok' })
      return true
    },

    async perform<T>(at: Place, { kind, request, costOf }: EffectRequest<T>): Promise<T> {
      if (kind !== 'model') return refuse(always[kind])
      const node = nodeOf(at)
      const match = matcher.effect(node, { kind, request })
      if (match.kind === 'none' || match.kind === 'open') return refuse(`it calls ${modelOf(request)} again`)
      if (match.kind === 'other') return refuse(otherRequest(node?.started ?? 0, request))
      const result = matcher.recall(match.outcome)
      if (result.status === 'failed' && !tree.goesOn(placeThen(at) ?? ''))
        return refuse(`${modelOf(request)} had failed`)
      if (match.started !== undefined) {
        noteEffect(at, match.started, result.status === 'ok' ? { ...result, cost: free } : observationOutcome(result))
      }
      const value = unwrap(result) as T
      if (costOf !== undefined) onRecall(at, costOf(value))
      return value
    },

    async boundary(at, work, boundary = {}) {
      assertClean()
      const p = placeText(at)
      const { inputs = {}, label } = boundary
      note({ k: 'begin', p, key: boundaryKey(inputs, mask), label })
      const result = await captureAsync(work)
      assertClean()
      const end = boundaryEnd(p, result, boundary)
      if (end !== undefined) note(end)
      return unwrap(result)
    },

    undo: () => refuse('its changes had failed'),
    again: () => false,
    flush: () => live.flush(),
    under,
  })

  return {
    effects: under(options.permission),
    refuse,
    later: (act) => void kept.push(act),
    reason: () => dirty?.reason,
    placeThen,
    commit() {
      for (const act of kept) act()
    },
  }
}

function valueOf(result: WorkResult<unknown>): unknown {
  return result.status === 'ok' ? result.value : undefined
}

/** Why a part with an effect of this kind is always repeated. */
const always: { readonly [K in EffectKind]: string } = {
  model: 'it calls a model',
  http: 'it makes an HTTP request',
  command: 'it runs a command',
  tool: 'it uses a tool',
  mcp: 'it uses a tool server',
  file: 'it changes files',
  git: 'it uses git',
  agent: 'it starts an agent of another program',
  message: 'it sends a message',
  approval: 'it asks for approval',
}

/** Why a part is repeated that reads something different than before. */
function changedText({ name, args, reads }: CallRequest): string {
  return reads === undefined ? `${callText(name, args)} returns something else` : `${reads} changed`
}

/** Why a part is repeated that reads something it did not read before. */
function newText({ name, args, reads }: CallRequest): string {
  return reads === undefined
    ? `it calls ${callText(name, args)}, which it did not before`
    : `it did not read ${reads} before`
}
