import { join } from 'node:path'
import { type BatchRequest, isBatchRequest, placeOfBatch } from '../agent/batches.ts'
import { createModelChooser } from '../agent/models.ts'
import type { AgentParts } from '../agent/parts.ts'
import { messageOf } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import { placeText } from '../event/place.ts'
import { lastWork } from '../journal/prune.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import { defaultTimeouts } from '../model/call.ts'
import { modelFailureOf } from '../model/errors.ts'
import { packageRoot } from '../package-root.ts'

/** A batch that a run has sent, and that its host may still work on. */
export interface UnfinishedBatch {
  /** The model, as users see it. */
  readonly provider: string
  /** How many. */
  readonly calls: number
  readonly request: BatchRequest
  /** Undefined: the run was killed before the host had answered. */
  readonly id: string | undefined
}

/** What became of it. `unknown`: the host may go on with it. */
type BatchEnd =
  | { readonly state: 'canceled' | 'ended'; readonly id: string | undefined }
  | { readonly state: 'unknown'; readonly id: string | undefined; readonly why: string }

/** Hosts work on a batch for a day; their clocks may differ from ours. */
const longestMs = 25 * 3_600_000
/** How long a host is asked about one batch. */
const patienceMs = 10_000

/** The batches of the run in a folder that their hosts may still work on. `now`: milliseconds since 1970. */
export async function unfinishedBatches(
  folder: string,
  { now }: { readonly now: number },
): Promise<readonly UnfinishedBatch[]> {
  if (lastWork(folder) < now - longestMs) return []
  const requests = new Map<string, BatchRequest>()
  const ids = new Map<string, unknown>()
  const source = openFileRecords(folder, { mask: noMask })
  try {
    await source.scan((record) => {
      if (!('p' in record) || (record.p !== placeText(placeOfBatch(requests.size)) && !requests.has(record.p))) return
      if (record.k === 'started') {
        const request = source.value(record.request)
        if (isBatchRequest(request)) requests.set(record.p, request)
      } else if (record.k === 'ended' && record.status === 'ok') {
        const value = source.value(record.value)
        if (isObject(value)) ids.set(record.p, value['id'])
      }
    })
  } finally {
    source.close()
  }
  return [...requests].flatMap(([place, request]) => {
    const id = ids.get(place)
    if (id === null || request.since < now - longestMs) return []
    return {
      provider: request.provider,
      calls: request.ids.length,
      request,
      id: typeof id === 'string' ? id : undefined,
    }
  })
}

interface Cancelling {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly settings: Pick<Settings, 'providers' | 'gateway' | 'model_aliases'>
  readonly signal: AbortSignal
}

/**
 * Asks the hosts to do nothing more of batches, each once and for a short time. What became of each, in their order.
 * Rejects only if `signal` aborts.
 */
export async function cancelBatches(
  left: readonly UnfinishedBatch[],
  { env, settings: { providers, gateway, model_aliases: aliases }, signal }: Cancelling,
): Promise<readonly (Pick<UnfinishedBatch, 'provider' | 'calls'> & BatchEnd)[]> {
  const chooseModel = createModelChooser({
    sources: { env, providers, gateway, aliases },
    timeouts: defaultTimeouts,
    tableFile: join(packageRoot(), 'agents', 'models.toml'),
    signal,
    isAttended: false,
    onNotice: () => undefined,
  })
  return Promise.all(
    left.map(async (batch) => {
      const { provider, calls } = batch
      return { provider, calls, ...(await cancelBatch(batch, { chooseModel, signal })) }
    }),
  )
}

async function cancelBatch(
  { request, id: known }: UnfinishedBatch,
  { chooseModel, signal }: Pick<AgentParts, 'chooseModel'> & Pick<Cancelling, 'signal'>,
): Promise<BatchEnd> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  let id = known
  try {
    const { provider, model } = await chooseModel(request.provider)
    if (provider.openBatches === undefined) return { state: 'unknown', id, why: 'no batch API is known for it' }
    const api = await provider.openBatches()
    id ??= await api.find({ ...request, model }, limit)
    if (id === undefined || (await api.look(id, limit)).kind !== 'working') return { state: 'ended', id }
    if (known === undefined && !api.keepsMark) {
      const why = 'the run was killed while it sent it, so this may be a batch of someone else'
      return { state: 'unknown', id, why }
    }
    try {
      await api.cancel(id, limit)
    } catch (error) {
      // it has ended just now
      if (modelFailureOf(error)?.retryable !== false || (await api.look(id, limit)).kind === 'working') throw error
      return { state: 'ended', id }
    }
    return { state: 'canceled', id }
  } catch (error) {
    signal.throwIfAborted()
    const why = limit.aborted ? `the host has not answered in ${patienceMs / 1000} s` : messageOf(error)
    return { state: 'unknown', id, why }
  }
}
