import { isObject } from '../../base/json.ts'
import { eventsOfWhole } from '../answer.ts'
import { modelFailureOf } from '../errors.ts'
import type { BatchApi, BatchResult, BatchState } from './api.ts'
import { type BatchClient, bodyInBatch, sumAt, textAt } from './client.ts'

/** How many pages of older batches are searched for a lost one, each with 100 of them. */
const mostPages = 10
/** By how much the clocks of this machine and of the host may differ. */
const clocksDifferMs = 5 * 60_000

/** The batch API of Anthropic: one request with all requests, and one list of results. */
export function anthropicBatches(client: BatchClient): BatchApi {
  const { ask, lines, idOf } = client
  const root = '/messages/batches'

  async function idsIn(id: string, signal: AbortSignal): Promise<readonly string[]> {
    const ids: string[] = []
    for await (const line of lines({ method: 'GET', path: `${root}/${id}/results`, model: `batch ${id}` }, signal)) {
      const own = textAt(line, 'custom_id')
      if (own !== undefined) ids.push(own)
    }
    return ids
  }

  return {
    keepsMark: false,
    most: { requests: 100_000, bytes: 256_000_000 },
    entry: (id, request) => JSON.stringify({ custom_id: id, params: bodyInBatch(client, request) }),
    async create({ entries, model }, signal) {
      const body = [
        Buffer.from('{"requests":['),
        ...entries.map((entry, index) => Buffer.from(index === 0 ? entry : `,${entry}`)),
        Buffer.from(']}'),
      ]
      return idOf(await ask({ method: 'POST', path: root, type: 'application/json', body, model }, signal))
    },
    // this API keeps no text of ours, so it is found by its time, its size and, if it has ended, its requests
    async find({ since, ids, model }, signal) {
      let after: string | undefined
      let found: string | undefined
      for (let page = 0; page < mostPages; page += 1) {
        const from = after === undefined ? '' : `&after_id=${encodeURIComponent(after)}`
        const answer = await ask({ method: 'GET', path: `${root}?limit=100${from}`, model }, signal)
        const listed: readonly unknown[] = isObject(answer) && Array.isArray(answer['data']) ? answer['data'] : []
        for (const one of listed) {
          if (Date.parse(textAt(one, 'created_at') ?? '') < since - clocksDifferMs) return found
          if (!isObject(one) || countOf(one) !== ids.length) continue
          const id = idOf(one)
          if (one['processing_status'] !== 'ended') found = id
          else if ((await idsIn(id, signal)).some((own) => ids.includes(own))) return id
        }
        after = textAt(listed.at(-1), 'id')
        if (!isObject(answer) || answer['has_more'] !== true || after === undefined) return found
      }
      return found
    },
    async look(id, signal) {
      const path = `${root}/${encodeURIComponent(id)}`
      try {
        return stateOf(await ask({ method: 'GET', path, model: `batch ${id}` }, signal), id)
      } catch (error) {
        if (modelFailureOf(error)?.status === 404) return { kind: 'gone' }
        throw error
      }
    },
    async cancel(id, signal) {
      const path = `${root}/${encodeURIComponent(id)}/cancel`
      await ask({ method: 'POST', path, model: `batch ${id}` }, signal)
    },
    async *results({ id }, signal) {
      const path = `${root}/${encodeURIComponent(id)}/results`
      for await (const line of lines({ method: 'GET', path, model: `batch ${id}` }, signal)) {
        const result = resultOf(line, client)
        if (result !== undefined) yield result
      }
    },
  }
}

function countOf(batch: { readonly [key: string]: unknown }): number {
  return sumAt(batch['request_counts'], 'processing', 'succeeded', 'errored', 'canceled', 'expired')
}

function stateOf(batch: unknown, id: string): BatchState {
  const counts = isObject(batch) ? batch['request_counts'] : undefined
  if (textAt(batch, 'processing_status') === 'ended') {
    const how = sumAt(counts, 'canceled') > 0 ? 'canceled' : sumAt(counts, 'expired') > 0 ? 'expired' : 'completed'
    return { kind: 'ended', id, how, files: [] }
  }
  return { kind: 'working', done: sumAt(counts, 'succeeded', 'errored', 'canceled', 'expired') }
}

function resultOf(line: unknown, { format }: BatchClient): BatchResult | undefined {
  const id = textAt(line, 'custom_id')
  if (id === undefined || !isObject(line)) return undefined
  const { result } = line
  const type = textAt(result, 'type')
  if (type === 'expired' || type === 'canceled') return { id, kind: type }
  if (type !== 'succeeded' || !isObject(result)) return { id, kind: 'failed' }
  const events = eventsOfWhole(format, JSON.stringify(result['message'] ?? null))
  return 'what' in events ? { id, kind: 'failed' } : { id, kind: 'answer', events }
}
