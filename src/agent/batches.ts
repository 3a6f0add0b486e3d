import { createPool, type Pool, unlessAborted } from '../base/concurrency.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { canonicalHash } from '../base/hash.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import type { Batches, BatchPiece } from '../event/batch.ts'
import { emit, type RunContext, withScope } from '../event/context.ts'
import type { Effects, EffectRequest, Granted } from '../event/effects.ts'
import { errorInfo } from '../event/error-info.ts'
import { item, part, type Place, placeText } from '../event/place.ts'
import type { BatchApi, BatchResult, EndedBatch } from '../model/batch/api.ts'
import { modelFailureOf } from '../model/errors.ts'
import type { ModelEvent, ModelProvider, ModelRequest } from '../model/provider.ts'
import type { ChosenModel } from './parts.ts'

/** The part of a model call that decides how it is sent. */
interface Call {
  readonly chosen: ChosenModel
  readonly request: ModelRequest
  readonly at: Place
  readonly isBatched: boolean
}

/** A call that is sent in a batch. */
interface BatchSeat {
  /**
   * Waits for the answer; undefined: the batch has none, so the call is made at once. `request`: as it is sent.
   * @throws BatonError SUSPENDED if it takes longer than the run waits, or the run ends before; MODEL_FAILED
   */
  readonly answer: (
    request: ModelRequest,
    granted: Pick<Granted, 'waits'>,
    context: RunContext,
  ) => Promise<Delivered | undefined>
  /** Ends the wait of the call, whatever came of it. */
  readonly end: (signal: AbortSignal) => Promise<void>
}

interface Delivered {
  /** The id of the batch. */
  readonly batch: string
  readonly stream: ModelProvider['stream']
}

export interface BatchDesk extends Batches {
  /**
   * The seat of a call; undefined: it is made at once.
   * @throws BatonError CONFIG_INVALID if only the user knows whether the host has a batch API
   */
  readonly seatFor: (call: Call, context: RunContext) => Promise<BatchSeat | undefined>
}

interface BatchDeskOptions {
  /** Of the run: batches are recorded and reported at its root. */
  readonly context: RunContext
  /** How long the run waits for a batch, in milliseconds. Default: a little longer than hosts work on one. */
  readonly waitMs: number | undefined
}

/** A call that waits until its batch is sent. */
interface Waiting {
  readonly id: string
  readonly chosen: ChosenModel
  readonly api: BatchApi
  readonly entry: string
  readonly onSent: (batch: SentBatch) => void
  readonly onFailed: (error: unknown) => void
}

type Group = readonly [Waiting, ...Waiting[]]

interface KnownBatch {
  readonly id: string
  readonly label: string
  readonly ids: readonly string[]
  readonly api: BatchApi
}

interface SentBatch extends KnownBatch {
  /** Shared by all its calls, and asked for again after a failure. */
  readonly results: () => Promise<Results>
}

interface Results {
  /** `gone`: the host does not know it. `refused`: nothing of it was done. */
  readonly how: EndedBatch['how'] | 'gone' | 'refused'
  readonly why?: string
  readonly byId: ReadonlyMap<string, BatchResult>
}

const defaultWaitMs = 25 * 3_600_000

/** How long a batch is held back after its last call, because others follow at the same moment. */
const settleMs = 200
/** How long it is held back at most, for tasks that have not made their call: they may wait for something in it. */
const longestHoldMs = 5 * 60_000

/**
 * Collects the first model calls of the tasks of a run, sends them as batches, and waits for their answers. A batch is
 * an effect at the root of the run, recorded with the ids of its calls, so that a resumed run waits for it instead of
 * sending it again; if it is not known whether it was sent, it is looked for at the host. Each call records its answer.
 */
export function createBatchDesk({ context: given, waitMs = defaultWaitMs }: BatchDeskOptions): BatchDesk {
  const context = withScope(given, { at: [] })
  const { effects, clock, signal, now } = context.services
  const earlier = earlierBatches(effects)
  const apis = new Map<string, Promise<BatchApi>>()
  const adopted = new Map<string, Promise<readonly SentBatch[]>>()
  const told = new Set<string>()
  /** The pieces that may still make their call. */
  const expected = new Set<OwnPiece>()
  let waiting: Waiting[] = []
  let isSettling = false
  let next = earlier.length

  function warnOnce(message: string): void {
    if (told.has(message)) return
    told.add(message)
    emit(context, { type: 'warning', message })
  }

  async function apiOf({ provider: { openBatches, batchKey }, label }: ChosenModel): Promise<BatchApi | undefined> {
    if (openBatches === undefined) {
      if (batchKey !== undefined) throw unknownBatches(label, batchKey)
      warnOnce(`${label} has no batch API: its calls are sent at once, at the full price`)
      return undefined
    }
    const known = apis.get(label) ?? openBatches()
    apis.set(label, known)
    return known
  }

  /** Sends what waits once nothing more is expected. A call that comes later gets a batch of its own. */
  async function settle(): Promise<void> {
    if (isSettling) return
    isSettling = true
    try {
      let heldMs = 0
      for (let count = 0; count < waiting.length || (expected.size > 0 && heldMs < longestHoldMs);) {
        heldMs = count < waiting.length ? 0 : heldMs + settleMs
        count = waiting.length
        await clock.sleep(settleMs, signal)
      }
      for (const group of groupsOf(waiting.splice(0))) deliver(group)
    } catch (error) {
      for (const { onFailed } of waiting.splice(0)) onFailed(error)
    } finally {
      isSettling = false
    }
  }

  function deliver(group: Group): void {
    send(group).then(
      (batch) => {
        for (const { onSent } of group) onSent(batch)
      },
      (error: unknown) => {
        for (const { onFailed } of group) onFailed(error)
      },
    )
  }

  async function send(group: Group): Promise<SentBatch> {
    const [{ chosen, api }] = group
    const ids = group.map(({ id }) => id)
    const { label: provider, model } = chosen
    // what the host shows says nothing about the work
    const mark = `${context.scope.runId}-${next}`
    const request: BatchRequest = { provider, mark, since: now().getTime(), ids }
    const at = placeOfBatch(next)
    next += 1
    const { id } = await effects.perform<Created>(at, effectOf(request, chosen), async (stop) => {
      await effects.flush()
      let isTried = false
      return {
        id: await untilReached(provider, stop, async () => {
          // a try that failed may have reached the host
          const sent = isTried ? await api.find({ ...request, model }, stop) : undefined
          isTried = true
          return sent ?? api.create({ entries: group.map(({ entry }) => entry), mark, model }, stop)
        }),
      }
    })
    if (id === null) throw new Error('a batch that was sent has no id')
    emit(context, { type: 'batch.sent', id, model: provider, calls: ids.length })
    return sentBatch({ id, label: provider, ids, api })
  }

  /** Does again, with growing waits, what the network or the host prevents. @throws BatonError SUSPENDED */
  async function untilReached<T>(label: string, stop: AbortSignal, work: () => Promise<T>): Promise<T> {
    const waits = createWaits(waitMs)
    for (;;) {
      try {
        return await work()
      } catch (error) {
        stop.throwIfAborted()
        const delayMs = delayAfter(error, waits)
        if (delayMs === undefined) throw unreached(label, error)
        emit(context, { type: 'batch.waiting', model: label, delay_ms: delayMs, error: errorInfo(error) })
        await clock.sleep(delayMs, stop)
      }
    }
  }

  function sentBatch(batch: KnownBatch): SentBatch {
    let asked: Promise<Results> | undefined
    const results = (): Promise<Results> =>
      (asked ??= resultsOf(batch).catch((error: unknown) => {
        asked = undefined
        throw error
      }))
    return { ...batch, results }
  }

  /** Asks for a batch until it has ended, and reads its results. An outage is waited out like the batch itself. */
  async function resultsOf(batch: KnownBatch): Promise<Results> {
    const { id, label, ids, api } = batch
    const waits = createWaits(waitMs)
    const about = { id, model: label, calls: ids.length }
    let done: number | undefined
    let isFailing = false
    for (;;) {
      try {
        const state = await api.look(id, signal)
        isFailing = false
        if (state.kind !== 'working') {
          const results = await endOf(state, batch)
          const answered = ids.filter((one) => results.byId.get(one)?.kind === 'answer').length
          if (isWhole(results)) emit(context, { type: 'batch.completed', ...about, answered })
          return results
        }
        const delayMs = waits.next()
        if (delayMs === undefined) throw stillWaiting(batch)
        if (done !== state.done) emit(context, { type: 'batch.waiting', ...about, done: state.done, delay_ms: delayMs })
        done = state.done
        await clock.sleep(delayMs, signal)
      } catch (error) {
        signal.throwIfAborted()
        const delayMs = delayAfter(error, waits)
        if (delayMs === undefined) throw stillWaiting(batch, error)
        // told once for each outage
        if (!isFailing) emit(context, { type: 'batch.waiting', ...about, delay_ms: delayMs, error: errorInfo(error) })
        isFailing = true
        await clock.sleep(delayMs, signal)
      }
    }
  }

  async function endOf(
    state: Exclude<Awaited<ReturnType<BatchApi['look']>>, { readonly kind: 'working' }>,
    { api }: KnownBatch,
  ): Promise<Results> {
    if (state.kind === 'gone') return { how: 'gone', byId: new Map() }
    if (state.kind === 'failed') return { how: 'refused', why: state.why, byId: new Map() }
    const byId = new Map<string, BatchResult>()
    for await (const result of api.results(state, signal)) {
      // of several results for one call the first answer counts
      if (byId.get(result.id)?.kind !== 'answer') byId.set(result.id, result)
    }
    return { how: state.how, byId }
  }

  /** The batches for a model that earlier processes of the run have sent, newest first. */
  async function adopt(chosen: ChosenModel, api: BatchApi): Promise<readonly SentBatch[]> {
    const found: SentBatch[] = []
    for (const { at, request } of earlier) {
      if (request.provider !== chosen.label) continue
      const { id } = await effects.perform<Created>(at, effectOf(request, chosen), async (stop) => {
        const lost = { ...request, model: chosen.model }
        return { id: (await untilReached(chosen.label, stop, () => api.find(lost, stop))) ?? null }
      })
      if (id === null) continue
      emit(context, { type: 'batch.sent', id, model: chosen.label, calls: request.ids.length, earlier: true })
      found.unshift(sentBatch({ id, label: chosen.label, ids: request.ids, api }))
    }
    return found
  }

  async function adoptedWith(
    id: string,
    { chosen, api }: Pick<Waiting, 'chosen' | 'api'>,
  ): Promise<SentBatch | undefined> {
    const known = adopted.get(chosen.label) ?? adopt(chosen, api)
    adopted.set(chosen.label, known)
    return (await known).find(({ ids }) => ids.includes(id))
  }

  /** Waits until the call is sent. */
  function enter(call: Omit<Waiting, 'onSent' | 'onFailed'>): Promise<SentBatch> {
    return new Promise<SentBatch>((onSent, onFailed) => {
      waiting.push({ ...call, onSent, onFailed })
      void settle()
    })
  }

  async function answerOf(
    call: Omit<Waiting, 'onSent' | 'onFailed'>,
    own: AbortSignal,
  ): Promise<Delivered | undefined> {
    const { id } = call
    const before = await adoptedWith(id, call)
    if (before !== undefined) {
      const results = await unlessAborted(before.results(), own)
      const result = results.byId.get(id)
      if (result?.kind === 'answer' || isOf(before, results)) return deliveredOf(result, before)
    }
    const batch = await unlessAborted(enter(call), own)
    const results = await unlessAborted(batch.results(), own)
    const result = results.byId.get(id)
    if (result?.kind !== 'answer') refuseUnanswered(batch, results)
    return deliveredOf(result, batch)
  }

  return {
    open: async (count, limit) => openPieces(count, limit, expected),
    async seatFor({ chosen, request, at, isBatched }, { services: { piece } }) {
      if (!isOwn(piece) || effects.wasDone(at)) return undefined
      if (!isBatched) {
        warnOnce('calls after the first of a task are sent at once, at the full price')
        return undefined
      }
      const api = await apiOf(chosen)
      if (api === undefined) return undefined
      const { runId } = context.scope
      const id = canonicalHash({ runId, at: placeText(at), request: request as unknown as JsonObject }).slice(0, 40)
      // from here on it may wait for the budget, which may wait for calls of the batch
      const comeBack = piece.leave()
      return {
        end: comeBack,
        async answer(limited, granted, { services }) {
          const { asking = (ask) => ask(), signal: own } = services
          granted.waits(waitsFor(chosen.label))
          const call = { id, chosen, api, entry: api.entry(id, limited) }
          try {
            const delivered = await asking(() => answerOf(call, own))
            if (delivered === undefined) await comeBack(own)
            return delivered
          } catch (error) {
            // what was sent is still answered: the next process gets it
            if (own.aborted) throw waitsFor(chosen.label)
            throw error
          }
        },
      }
    },
  }
}

/** A piece of this desk, with what its calls need. */
interface OwnPiece extends BatchPiece {
  readonly desk: typeof deskMark
  /**
   * Leaves its slot to others, and is not expected to make a call, until the returned function is called, which waits
   * for a slot; a second time it does nothing.
   */
  readonly leave: () => (signal: AbortSignal) => Promise<void>
}

const deskMark = 'batch-desk'

function isOwn(piece: BatchPiece | undefined): piece is OwnPiece {
  return piece !== undefined && 'desk' in piece
}

/** Pieces of which `limit` work at the same time. */
function openPieces(count: number, limit: number, expected: Set<OwnPiece>): readonly OwnPiece[] {
  const slots = createPool(limit)
  return Array.from({ length: count }, () => createPiece(slots, expected))
}

function createPiece(slots: Pool, expected: Set<OwnPiece>): OwnPiece {
  let release: (() => void) | undefined
  let outside = 0
  let isEnded = false

  function enter(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const hold = (): Promise<void> =>
        new Promise((end) => {
          release = end
          resolve()
        })
      slots.run(hold, signal).catch(reject)
    })
  }

  function leave(): void {
    release?.()
    release = undefined
  }

  const piece: OwnPiece = {
    desk: deskMark,
    async run(work, signal) {
      try {
        await enter(signal)
        return await work()
      } finally {
        isEnded = true
        leave()
        expected.delete(piece)
      }
    },
    async split({ count, limit, signal }, work) {
      const parts = openPieces(count, limit, expected)
      const comeBack = piece.leave()
      try {
        return await work(parts)
      } finally {
        await comeBack(signal)
      }
    },
    leave() {
      let isBack = false
      outside += 1
      expected.delete(piece)
      if (outside === 1) leave()
      return async (signal) => {
        if (isBack) return
        isBack = true
        outside -= 1
        if (outside > 0 || isEnded || signal.aborted) return
        expected.add(piece)
        await enter(signal)
      }
    },
  }
  expected.add(piece)
  return piece
}

/** What is recorded of a batch before it is sent. */
export interface BatchRequest {
  /** The model, as users see it. */
  readonly provider: string
  readonly mark: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** Of its calls. */
  readonly ids: readonly string[]
}

/** `id`: null if it turned out that it was not sent. */
type Created = { readonly id: string | null }

export function placeOfBatch(index: number): Place {
  return [part('batch'), item(index)]
}

/** It is safe to repeat because whoever repeats it looks for the batch first. */
function effectOf(request: BatchRequest, { model, label }: ChosenModel): EffectRequest<Created> {
  return {
    kind: 'http',
    request: request as unknown as JsonObject,
    action: { kind: 'model', model, label },
    repeat: 'safe',
  }
}

/** The batches of earlier processes of the run. */
function earlierBatches(effects: Effects): readonly { readonly at: Place; readonly request: BatchRequest }[] {
  const found: { readonly at: Place; readonly request: BatchRequest }[] = []
  for (;;) {
    const at = placeOfBatch(found.length)
    const recorded = effects.requested(at)
    if (recorded === undefined || !isBatchRequest(recorded.request)) return found
    found.push({ at, request: recorded.request })
  }
}

export function isBatchRequest(value: unknown): value is BatchRequest {
  return isObject(value) && Array.isArray(value['ids']) && typeof value['provider'] === 'string'
}

/** As many calls for one model as fit into a batch. */
function groupsOf(waiting: readonly Waiting[]): readonly Group[] {
  const open = new Map<string, { readonly group: [Waiting, ...Waiting[]]; bytes: number }>()
  const groups: Group[] = []
  for (const one of waiting) {
    const { chosen, api, entry } = one
    // a line break or a comma comes with each
    const size = Buffer.byteLength(entry) + 2
    const last = open.get(chosen.label)
    if (last !== undefined && last.group.length < api.most.requests && last.bytes + size <= api.most.bytes) {
      last.group.push(one)
      last.bytes += size
      continue
    }
    const group: [Waiting, ...Waiting[]] = [one]
    open.set(chosen.label, { group, bytes: size })
    groups.push(group)
  }
  return groups
}

/** Growing waits that add up to `mostMs`. */
interface Waits {
  /** Undefined: it was waited long enough. */
  readonly next: () => number | undefined
}

const firstWaitMs = 250
const longestWaitMs = 60_000

function createWaits(mostMs: number): Waits {
  let waited = 0
  let wait = firstWaitMs
  return {
    next() {
      const delayMs = Math.min(wait, mostMs - waited)
      if (delayMs <= 0) return undefined
      waited += delayMs
      wait = Math.min(wait * 2, longestWaitMs)
      return delayMs
    },
  }
}

/** The wait after a failure that may pass; undefined: it was waited long enough. @throws any other error */
function delayAfter(error: unknown, waits: Waits): number | undefined {
  const failure = modelFailureOf(error)
  if (failure?.retryable !== true) throw error
  const delayMs = waits.next()
  return delayMs === undefined ? undefined : Math.max(delayMs, failure.retryAfterMs ?? 0)
}

/** Whether the host has worked on it to the end: then calls without an answer are made at once. */
function isWhole({ how }: Results): boolean {
  return how === 'completed' || how === 'expired'
}

/** Whether the batch that an earlier process has sent answers its calls: otherwise they are sent in a new one. */
function isOf({ ids }: KnownBatch, results: Results): boolean {
  // a batch that was found by its time and size may be of someone else
  return isWhole(results) && ids.some((id) => results.byId.has(id))
}

function deliveredOf(result: BatchResult | undefined, { id: batch }: KnownBatch): Delivered | undefined {
  if (result?.kind !== 'answer') return undefined
  const { events } = result
  return { batch, stream: () => streamOf(events) }
}

async function* streamOf(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events
}

function waitsFor(label: string): BatonError {
  return new BatonError('SUSPENDED', `it waits for a batch to ${label}`)
}

function stillWaiting({ id, label, ids }: KnownBatch, cause?: unknown): BatonError {
  const why = isBatonError(cause) ? ` (${cause.message})` : ''
  return new BatonError('SUSPENDED', `the batch ${id} to ${label} with ${ids.length} calls has not ended yet${why}`, {
    hint: 'The host goes on with it. Resume the run later, or raise timeouts.batch; baton runs rm cancels it.',
  })
}

function unreached(label: string, cause: unknown): BatonError {
  const why = isBatonError(cause) ? cause.message : 'the host cannot be reached'
  return new BatonError('SUSPENDED', `the batch to ${label} is not sent yet: ${why}`)
}

/** @throws BatonError MODEL_FAILED for calls that nobody wants to have sent at the full price */
function refuseUnanswered({ id, label }: KnownBatch, { how, why = '' }: Results): void {
  const hint =
    'Resume the run to send its calls in a new batch, or with -c batch=false to send them at once, at the full price.'
  if (how === 'refused') throw new BatonError('MODEL_FAILED', `${label} refused the batch ${id}: ${why}`, { hint })
  if (how === 'canceled') throw new BatonError('MODEL_FAILED', `the batch ${id} to ${label} was canceled`, { hint })
  if (how === 'gone') throw new BatonError('MODEL_FAILED', `${label} does not know the batch ${id} any more`, { hint })
}

function unknownBatches(label: string, batchKey: string): BatonError {
  return new BatonError(
    'CONFIG_INVALID',
    `batch = true: it is not known whether the host of ${label} has a batch API`,
    {
      hint: `If it has, set ${batchKey} = true, beside base_url, in your config file; otherwise leave out batch.`,
    },
  )
}
