import { randomUUID } from 'node:crypto'
import { isObject } from '../../base/json.ts'
import { eventsOfWhole } from '../answer.ts'
import { modelFailureOf } from '../errors.ts'
import type { BatchApi, BatchResult, BatchState } from './api.ts'
import { type BatchClient, bodyInBatch, sumAt, textAt } from './client.ts'

/** How many pages of older batches are searched for a lost one, each with 100 of them. */
const mostPages = 10

/**
 * The batch API of OpenAI: the requests are uploaded as a file with one in each line, and the results are two files, one
 * of answers and one of errors.
 */
export function openAiBatches(client: BatchClient): BatchApi {
  const { format, ask, lines, idOf } = client
  const json = 'application/json'

  async function look(id: string, signal: AbortSignal): Promise<BatchState> {
    const path = `/batches/${encodeURIComponent(id)}`
    try {
      return stateOf(await ask({ method: 'GET', path, model: `batch ${id}` }, signal), id)
    } catch (error) {
      if (modelFailureOf(error)?.status === 404) return { kind: 'gone' }
      throw error
    }
  }

  return {
    keepsMark: true,
    most: { requests: 50_000, bytes: 200_000_000 },
    entry: (id, request) =>
      JSON.stringify({
        custom_id: id,
        method: 'POST',
        url: endpointOf(format.path(request)),
        body: bodyInBatch(client, request),
      }),
    async create({ entries, mark, model }, signal) {
      const boundary = `baton-${randomUUID()}`
      const file = await ask(
        {
          method: 'POST',
          path: '/files',
          type: `multipart/form-data; boundary=${boundary}`,
          body: uploadOf(entries, boundary),
          model,
        },
        signal,
      )
      const body = {
        input_file_id: textAt(file, 'id'),
        endpoint: endpointOf(format.path({ model, messages: [] })),
        completion_window: '24h',
        metadata: { baton: mark },
      }
      const bytes = [Buffer.from(JSON.stringify(body))]
      return idOf(await ask({ method: 'POST', path: '/batches', type: json, body: bytes, model }, signal))
    },
    async find({ mark, model }, signal) {
      let after: string | undefined
      for (let page = 0; page < mostPages; page += 1) {
        const from = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
        const found = await ask({ method: 'GET', path: `/batches?limit=100${from}`, model }, signal)
        const listed = listAt(found, 'data')
        const own = listed.find((one) => isObject(one) && textAt(one['metadata'], 'baton') === mark)
        if (own !== undefined) return idOf(own)
        after = textAt(listed.at(-1), 'id')
        if (!isObject(found) || found['has_more'] !== true || after === undefined) return undefined
      }
      return undefined
    },
    look,
    async cancel(id, signal) {
      await ask({ method: 'POST', path: `/batches/${encodeURIComponent(id)}/cancel`, model: `batch ${id}` }, signal)
    },
    async *results({ id, files }, signal) {
      for (const file of files) {
        const path = `/files/${encodeURIComponent(file)}/content`
        for await (const line of lines({ method: 'GET', path, model: `batch ${id}` }, signal)) {
          const result = resultOf(line, client)
          if (result !== undefined) yield result
        }
      }
    },
  }
}

function endpointOf(path: string): string {
  return `/v1${path}`
}

function listAt(value: unknown, key: string): readonly unknown[] {
  const found = isObject(value) ? value[key] : undefined
  return Array.isArray(found) ? found : []
}

function stateOf(batch: unknown, id: string): BatchState {
  const status = textAt(batch, 'status')
  const files = ['output_file_id', 'error_file_id'].flatMap((key) => textAt(batch, key) ?? [])
  switch (status) {
    case 'completed':
    case 'expired':
      return { kind: 'ended', id, how: status, files }
    case 'cancelled':
      return { kind: 'ended', id, how: 'canceled', files }
    case 'failed': {
      const [first] = listAt(isObject(batch) ? batch['errors'] : undefined, 'data')
      return { kind: 'failed', why: textAt(first, 'message') ?? 'no reason is given' }
    }
    default:
      return { kind: 'working', done: sumAt(isObject(batch) && batch['request_counts'], 'completed', 'failed') }
  }
}

function resultOf(line: unknown, { format }: BatchClient): BatchResult | undefined {
  const id = textAt(line, 'custom_id')
  if (id === undefined || !isObject(line)) return undefined
  const { response, error } = line
  if (textAt(error, 'code') === 'batch_expired') return { id, kind: 'expired' }
  if (textAt(error, 'code') === 'batch_cancelled') return { id, kind: 'canceled' }
  if (!isObject(response) || response['status_code'] !== 200) return { id, kind: 'failed' }
  const events = eventsOfWhole(format, JSON.stringify(response['body'] ?? null))
  return 'what' in events ? { id, kind: 'failed' } : { id, kind: 'answer', events }
}

/** The form with the file of requests. */
function uploadOf(entries: readonly string[], boundary: string): readonly Uint8Array[] {
  const head = [
    `--${boundary}`,
    'content-disposition: form-data; name="purpose"',
    '',
    'batch',
    `--${boundary}`,
    'content-disposition: form-data; name="file"; filename="requests.jsonl"',
    'content-type: application/jsonl',
    '',
    '',
  ]
  const lines = entries.map((entry) => Buffer.from(`${entry}\n`))
  return [Buffer.from(head.join('\r\n')), ...lines, Buffer.from(`\r\n--${boundary}--\r\n`)]
}
