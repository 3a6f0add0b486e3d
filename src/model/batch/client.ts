import { StringDecoder } from 'node:string_decoder'
import { type BatonError, isBatonError } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { type Call, connectTimeout, idleTimeout, openCall } from '../call.ts'
import { type Endpoint, modelError } from '../errors.ts'
import { faultOfThrown } from '../faults.ts'
import { addressOf, userHeaders, ownHeaders, post, type SendOptions } from '../send.ts'
import type { Quirks, WireFormat } from '../wire/format.ts'

export interface BatchHost extends Omit<SendOptions, 'apiKey'> {
  readonly quirks: Quirks
  readonly key: (signal: AbortSignal) => Promise<string | undefined>
  readonly endpoint: () => Endpoint
}

/** What is asked of a batch API besides model calls. */
interface Errand {
  readonly method: 'GET' | 'POST'
  /** Below the base URL. */
  readonly path: string
  readonly body?: readonly Uint8Array[]
  readonly type?: string
  /** For messages. */
  readonly model: string
}

export interface BatchClient {
  readonly format: WireFormat
  readonly quirks: Quirks
  /** The answer as JSON. */
  readonly ask: (errand: Errand, signal: AbortSignal) => Promise<unknown>
  /** The values of an answer with one JSON text in each line. */
  readonly lines: (errand: Errand, signal: AbortSignal) => AsyncIterable<unknown>
  /** The id in what the host says of a batch. @throws BatonError MODEL_FAILED if there is none */
  readonly idOf: (batch: unknown) => string
}

type KeyHeaders = (key: string | undefined) => { readonly [name: string]: string }

const anthropicHeaders: KeyHeaders = (key) => ({
  'anthropic-version': '2023-06-01',
  ...(key === undefined ? {} : { 'x-api-key': key }),
})

function openAiHeaders({ account = {} }: Pick<SendOptions, 'account'>): KeyHeaders {
  const { organization, project } = account
  return (key) => ({
    ...(organization === undefined ? {} : { 'openai-organization': organization }),
    ...(project === undefined ? {} : { 'openai-project': project }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  })
}

/** An answer that is no list of results. */
const longestAnswer = 64 * 1024 * 1024

/** Asks the batch API of a host with this format. */
export function createBatchClient(format: WireFormat, host: BatchHost): BatchClient {
  const { base, timeouts, env, key, endpoint } = host
  const keyHeaders = format.name === 'anthropic' ? anthropicHeaders : openAiHeaders(host)
  const given = userHeaders(host)

  async function* pieces(
    { method, path, body = [], type, model }: Errand,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    let call: Call | undefined
    let isAnswering = false
    try {
      const headers = {
        ...ownHeaders,
        ...(type === undefined ? {} : { 'content-type': type }),
        ...keyHeaders(await key(signal)),
        ...given,
      }
      const opened = (call = openCall(signal, timeouts))
      const question = { url: addressOf(base, path), method, headers, body, isOnce: method === 'POST' }
      const answer = await opened.within({ ms: timeouts.connectMs, fault: connectTimeout }, () =>
        post(question, opened, { timeouts, env }),
      )
      isAnswering = true
      const decoder = new StringDecoder('utf8')
      for (;;) {
        const bytes = await opened.read(answer.body, { ms: timeouts.streamIdleMs, fault: idleTimeout })
        if (bytes === undefined) break
        yield decoder.write(Buffer.from(bytes))
      }
      yield decoder.end()
    } catch (error) {
      signal.throwIfAborted()
      if (isBatonError(error)) throw error
      const fault = call?.fault() ?? faultOfThrown(error, { answering: isAnswering })
      throw modelError(fault, { model, endpoint: endpoint() })
    } finally {
      call?.close()
    }
  }

  function garbled(what: string, model: string): BatonError {
    // it may have been cut off, so it is asked for again
    return modelError({ class: 'garbled', retryable: true, what }, { model, endpoint: endpoint() })
  }

  function parse(text: string, { model }: Errand): unknown {
    try {
      return JSON.parse(text)
    } catch {
      throw garbled('answered with invalid JSON about a batch', model)
    }
  }

  return {
    format,
    quirks: host.quirks,
    async ask(errand, signal) {
      let text = ''
      for await (const piece of pieces(errand, signal)) {
        text += piece
        if (text.length <= longestAnswer) continue
        throw garbled('sent an answer of more than 64 MB about a batch', errand.model)
      }
      return parse(text, errand)
    },
    async *lines(errand, signal) {
      let rest = ''
      for await (const piece of pieces(errand, signal)) {
        const found = (rest + piece).split('\n')
        rest = found.pop() ?? ''
        for (const line of found) if (line.trim() !== '') yield parse(line, errand)
      }
      if (rest.trim() !== '') yield parse(rest, errand)
    },
    idOf(batch) {
      const id = textAt(batch, 'id')
      if (id === undefined) throw garbled('named no id of a batch', 'a batch')
      return id
    },
  }
}

/** The body of a call as it is in a batch, where nothing is streamed. */
export function bodyInBatch({ format, quirks }: BatchClient, request: Parameters<WireFormat['body']>[0]): object {
  const { stream: _, stream_options: __, ...body } = format.body(request, quirks)
  return body
}

export function textAt(value: unknown, key: string): string | undefined {
  const found = isObject(value) ? value[key] : undefined
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** The sum of these counts; what is no count is 0. */
export function sumAt(value: unknown, ...keys: readonly string[]): number {
  if (!isObject(value)) return 0
  return keys.map((key) => value[key]).reduce<number>((sum, one) => sum + (typeof one === 'number' ? one : 0), 0)
}
