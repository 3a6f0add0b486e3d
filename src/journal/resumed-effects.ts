import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { type AskedCall, type Effects, type FileChangeRecord, type Place, placeText } from '../event/effects.ts'
import { finishBoundary, recordCall } from './effects.ts'
import { boundaryKey, fingerprint, isSameKey } from './fingerprint.ts'
import type { RunJournal } from './journal.ts'
import { type ChangeState, type Location, type PlaceNode, showsBelow } from './place-node.ts'
import type { JournalRecord, RecordedError } from './record.ts'
import { revivedFrom } from './revive.ts'
import type { RunIndex } from './run-index.ts'
import { callText, diverged, isSameValue } from './same-call.ts'
import { fileReadBy, isStale, type StaleRead } from './stale-read.ts'
import type { StartedRecord } from './uncertain.ts'

/** An effect that was in flight when a run broke off, and that is done again. */
export interface Repeated {
  /** `EPOCH.N` of its `started` record. */
  readonly id: string
  readonly place: string
  readonly kind: string
}

export interface ResumeOptions {
  readonly index: RunIndex
  /** The journal of the process that goes on. */
  readonly journal: RunJournal
  readonly live: Effects
  /** What the disk says about a file change whose end is in no record. */
  readonly stateOf: (record: FileChangeRecord) => ChangeState
  /** Told of what is done again. */
  readonly onRepeat: (repeated: Repeated) => void
  /** Told of what was shown in a boundary that is read back. */
  readonly onShow: (record: Extract<JournalRecord, { readonly k: 'show' }>) => void
  /** Told where a file was answered from the record that is another one now; `boundary` is what reads it anew. */
  readonly onStale?: (stale: StaleRead) => void
  /** What is not within a boundary follows the sources of now (`--use-current`). */
  readonly usesCurrent: boolean
}

/** An answer of the record: undefined where it has none and the call is made. */
type Answer<T> = { readonly value: T } | undefined

/**
 * Effects of a run that goes on (DESIGN 11 "Resume"): what an older epoch has recorded is the answer, as long as the
 * calls agree; everything else goes live. A finished boundary is read back when its inputs are the same, else done
 * afresh. Errors answer only where the work went on after them; otherwise the call is made again.
 * @throws BatonError DIVERGED, UNCERTAIN from any of its methods, and from all of them once one was thrown
 */
export function createResumedEffects(options: ResumeOptions): Effects {
  const { index, journal, live, stateOf, onRepeat, onShow, onStale, usesCurrent } = options
  const { tree, source } = index
  /** How much each unfinished section has shown again. */
  const shownIn = new Map<PlaceNode, number>()
  let stopped: BatonError | undefined

  function stop(error: BatonError): never {
    stopped ??= error
    throw stopped
  }

  function refuseStopped(): void {
    if (stopped !== undefined) throw stopped
  }

  /** A script may catch the error that stops the run; what it gives then is no result. */
  function unlessStopped<T>(work: () => Promise<T>): () => Promise<T> {
    return async () => {
      const value = await work()
      refuseStopped()
      return value
    }
  }

  function nodeOf(at: Place): PlaceNode | undefined {
    refuseStopped()
    return tree.find(placeText(at))
  }

  /** Refuses a call that is not the recorded one. Gives undefined where the place is to go live instead. */
  function disagree(at: Place, now: string, recorded: string): undefined {
    const place = placeText(at)
    const boundary = boundaryAround(index, at)
    if (usesCurrent && boundary === undefined) return tree.reopen(place) as undefined
    return stop(diverged(place, { now, recorded, boundary: boundary ?? place }))
  }

  function describe({ answer, returned, started }: PlaceNode): string {
    const location = returned ?? answer ?? started
    const record = location === undefined ? undefined : source.at(location)
    if (record?.k === 'started') return callText(record.kind, record.request)
    return record?.k === 'obs' || record?.k === 'call' ? callText(record.name, record.args) : 'nothing'
  }

  /** A recorded error answers where the work went on after it. */
  function failed(at: Place, error: RecordedError): undefined {
    if (tree.goesOn(placeText(at))) throw revivedFrom(source, error)
    return undefined
  }

  /** Whether a call at this place is made again: what it did then is the answer to what it does now. */
  function isMadeAgain(at: Place, { returned }: PlaceNode): boolean {
    if (returned === undefined) return false
    const record = source.at(returned)
    return record.k === 'call' && record.status !== 'ok' && !tree.goesOn(placeText(at))
  }

  function observed<T>(at: Place, asked: AskedCall): Answer<T> {
    const node = nodeOf(at)
    if (node === undefined) return undefined
    if (node.answer !== undefined) return answerOf(at, node, { asked, location: node.answer })
    const isFree = node.started === undefined && (node.returned === undefined || isMadeAgain(at, node))
    return isFree ? undefined : disagree(at, callText(asked.name, asked.args), describe(node))
  }

  /** A call that has not returned is made again, and agrees or not in what it does. */
  function returned<T>(at: Place, asked: AskedCall): Answer<T> {
    const node = nodeOf(at)
    return node?.returned === undefined ? undefined : answerOf(at, node, { asked, location: node.returned })
  }

  function answerOf<T>(
    at: Place,
    node: PlaceNode,
    { asked, location }: { readonly asked: AskedCall; readonly location: Location },
  ): Answer<T> {
    const record = source.at(location)
    const isAnswer = record.k === 'obs' || record.k === 'call'
    if (!isAnswer || record.name !== asked.name || !isSameValue(asked.args, record.args, journal.mask)) {
      return disagree(at, callText(asked.name, asked.args), describe(node))
    }
    return record.status === 'ok' ? { value: source.value(record.value) as T } : failed(at, record.error)
  }

  /** Shows again what a call has shown that a record answers: below its place, and in its section before it returned. */
  function showCall(at: Place): void {
    const place = placeText(at)
    const section = tree.find(place.replace(/#\d+$/, ''))
    const node = tree.find(place)
    if (section === undefined || node?.returned === undefined) return
    const own = section.shows ?? []
    const first = shownIn.get(section) ?? 0
    let end = first
    while ((own[end] ?? Infinity) < node.returned) end += 1
    shownIn.set(section, end)
    for (const location of [...own.slice(first, end), ...showsBelow(node)].toSorted((left, right) => left - right)) {
      show(source.at(location))
    }
  }

  function show(record: JournalRecord): void {
    if (record.k === 'show') onShow(record)
  }

  /** A call that was stopped half-way may have been paid for. */
  function wasCancelled(ended: Location): boolean {
    const record = source.at(ended)
    return record.k === 'ended' && record.status === 'cancelled'
  }

  /** The start of an effect at a place, when it is the one that is asked for now. */
  function begun(
    at: Place,
    node: PlaceNode,
    { kind, asked }: { readonly kind: string; readonly asked: Json },
  ): StartedRecord | undefined {
    if (node.started === undefined) {
      return node.answer === undefined ? undefined : disagree(at, callText(kind, asked), describe(node))
    }
    const started = source.at(node.started) as StartedRecord
    if (started.kind === kind && started.fp === fingerprint(asked, journal.mask)) return started
    return disagree(at, callText(kind, asked), describe(node))
  }

  function repeat(at: Place, { e, n, kind }: StartedRecord): undefined {
    onRepeat({ id: `${e}.${n}`, place: placeText(at), kind })
  }

  function uncertain(at: Place, { e, n, kind }: StartedRecord): never {
    const what = `it is not known whether the ${kind} at ${placeText(at)} happened`
    const hint = `Look, then resume with --uncertain ${e}.${n}=redo, =done or =fail.`
    return stop(new BatonError('UNCERTAIN', what, { hint }))
  }

  /** The end that counts of an effect: undefined when it is to be done (again). */
  function endOf<T>(at: Place, node: PlaceNode, started: StartedRecord, assumed: Answer<T>): Answer<T> {
    if (node.ended !== undefined) {
      const ended = source.at(node.ended)
      if (ended.k === 'ended' && ended.status === 'ok') return { value: source.value(ended.value) as T }
      if (ended.k === 'ended' && node.choice === undefined) {
        failed(at, ended.error)
        return started.repeat === 'safe' ? undefined : uncertain(at, started)
      }
    }
    if (node.choice === undefined) return undefined
    if (node.choice !== 'fail') return assumed ?? uncertain(at, started)
    throw new BatonError(
      'SCRIPT_FAILED',
      `the ${started.kind} at ${placeText(at)} counts as failed: --uncertain said so`,
    )
  }

  return {
    observe(at, call, read) {
      const answer = observed<ReturnType<typeof read>>(at, call)
      if (answer === undefined) return live.observe(at, call, read)
      const path = onStale && fileReadBy(call)
      if (path !== undefined && isStale(read, answer.value, journal.mask)) {
        onStale?.({ at, path, boundary: boundaryAround(index, at) ?? placeText(at) })
      }
      return answer.value
    },

    answers: (at) => tree.find(placeText(at))?.answer !== undefined,

    call(at, asked, work) {
      const answer = returned<Awaited<ReturnType<typeof work>>>(at, asked)
      if (answer === undefined) return live.call(at, asked, () => recordCall(work, refuseStopped))
      showCall(at)
      return answer.value
    },

    changeFile(at, asked, plan) {
      const node = nodeOf(at)
      if (node === undefined) return live.changeFile(at, asked, plan)
      if (node.answer !== undefined) {
        const answer = observed(at, { name: 'file.change', args: asked })
        return answer === undefined ? live.changeFile(at, asked, plan) : false
      }
      const started = begun(at, node, { kind: 'file', asked })
      if (started === undefined) return live.changeFile(at, asked, plan)
      if (endOf(at, node, started, { value: undefined }) !== undefined) return true
      if (node.ended !== undefined) return live.changeFile(at, asked, plan)
      switch (node.state ?? stateOf(source.value(started.request) as FileChangeRecord)) {
        case 'after':
          journal.note({ k: 'choice', p: placeText(at), of: [started.e, started.n], choice: 'found' })
          return true
        case 'before':
          repeat(at, started)
          return live.changeFile(at, asked, plan)
        case 'neither':
          return uncertain(at, started)
      }
    },

    async perform(at, effect, act) {
      const node = nodeOf(at)
      const started = node && begun(at, node, { kind: effect.kind, asked: effect.request })
      if (node === undefined || started === undefined) return live.perform(at, effect, act)
      const { assumed } = effect
      const end = endOf(
        at,
        node,
        started,
        assumed === undefined ? undefined : { value: assumed as Awaited<ReturnType<typeof act>> },
      )
      if (end !== undefined) return end.value
      if (node.ended === undefined) {
        if (started.repeat === 'unsafe') return uncertain(at, started)
        repeat(at, started)
      } else if (wasCancelled(node.ended)) repeat(at, started)
      return live.perform(at, effect, act)
    },

    async boundary(at, work, options = {}) {
      const node = nodeOf(at)
      const p = placeText(at)
      if (
        node?.begin === undefined ||
        !isSameKey(source.at(node.begin), boundaryKey(options.inputs ?? {}, journal.mask))
      ) {
        tree.reopen(p)
        return live.boundary(at, unlessStopped(work), options)
      }
      if (node.done === undefined) {
        return finishBoundary(journal, p, { ...options, work: unlessStopped(work) })
      }
      const done = source.at(node.done)
      for (const shown of index.shows(node)) show(shown)
      return (done.k === 'done' ? source.value(done.value) : undefined) as Awaited<ReturnType<typeof work>>
    },
  }
}

/** The innermost boundary that a place is in, as text. */
function boundaryAround({ tree }: RunIndex, at: Place): string | undefined {
  for (let length = at.length; length > 0; length -= 1) {
    const place = placeText(at.slice(0, length))
    const section = place.replace(/#\d+$/, '')
    const found = [place, section].find((one) => tree.find(one)?.begin !== undefined)
    if (found !== undefined) return found
  }
  return undefined
}
