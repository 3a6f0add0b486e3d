import { OpenAI } from 'openai'
import type { JsonObject } from '../base/json.ts'
import { isLongJson, jsonChunks } from '../base/json-pieces.ts'
import { proxyOf } from '../base/proxy.ts'
import type { Quirks, WireFormat } from './wire/format.ts'
import { type AnswerReader, readAnswer, readErrorText } from './answer.ts'
import { readBaseUrl } from './base-url.ts'
import { type Call, connectTimeout, headersTimeout, type ModelTimeouts, openCall } from './call.ts'
import type { Environment } from './choice.ts'
import { type Endpoint, modelError } from './errors.ts'
import { exchange, type HttpAnswer } from './exchange.ts'
import { faultOfStatus, faultOfThrown, retryAfterOf } from './faults.ts'
import type { ModelEvent, ModelProvider, ModelRequest, UnsentSetting } from './provider.ts'

export interface TransportOptions {
  /** The name of the provider: `openai`, `gateway`, or its name in the config. */
  readonly name: string
  /**
   * Root of the API, for example `https://api.openai.com/v1`. A query (`?api-version=…`) is sent with every request.
   */
  readonly baseUrl: string
  /** Where that comes from, for hints; omitted for built-in addresses. */
  readonly baseUrlName?: string | undefined
  readonly quirks: Quirks
  /** Sent in the headers that the format uses. If undefined, no such header is sent. */
  readonly apiKey: string | undefined
  /** The environment variable the key comes from, for hints. */
  readonly apiKeyName?: string | undefined
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string }
  readonly timeouts: ModelTimeouts
  /** Names the proxy, if there is one. */
  readonly env?: Environment
}

/**
 * The one HTTP stack below all wire formats (R276, R281..R288). Nothing is retried here. A stream that is left early,
 * aborted or failed closes its connection.
 * @throws BatonError CONFIG_INVALID if the base URL is invalid
 */
export function createTransport(format: WireFormat, options: TransportOptions): ModelProvider {
  const { name, apiKey, headers = {}, timeouts, quirks } = options
  const base = readBaseUrl(options.baseUrl, options.baseUrlName ?? name)
  const endpoint: Endpoint = {
    host: base.host,
    addressName: options.baseUrlName,
    keyName: options.apiKeyName,
    keySent: apiKey !== undefined,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers), ...Object.values(base.query)],
  }
  // only builds URLs: its own transport is much slower, and does not have our headers, limits and faults
  const client = new OpenAI({ baseURL: base.url, defaultQuery: base.query, apiKey: 'none', logLevel: 'off' })
  const send = createSender(format, options)

  async function open(request: ModelRequest, call: Call): Promise<HttpAnswer> {
    const url = client.buildURL(format.path(request), undefined)
    const body = bodyBytes(format.body(request, quirks))
    const limit = { ms: timeouts.connectMs, fault: connectTimeout }
    return call.within(limit, () => send(url, body, call))
  }

  /** The events of one call. The call starts with the first `next`. */
  function read(request: ModelRequest, signal: AbortSignal): AsyncIterator<ModelEvent> {
    let call: Call | undefined
    let answer: HttpAnswer | undefined
    let reader: AnswerReader | undefined
    let events: readonly ModelEvent[] | undefined = []
    let position = 0

    function end(): IteratorResult<ModelEvent> {
      events = undefined
      call?.close()
      return { done: true, value: undefined }
    }

    // not a generator: passing events through one costs as much as reading them
    return {
      async next() {
        try {
          signal.throwIfAborted()
          call ??= openCall(signal, timeouts)
          answer ??= await open(request, call)
          reader ??= await readAnswer(answer, { format, call, timeouts })
          while (events?.length === position) {
            events = await reader.next()
            position = 0
            signal.throwIfAborted()
          }
          const event = events?.[position]
          position += 1
          return event === undefined ? end() : { done: false, value: event }
        } catch (error) {
          end()
          signal.throwIfAborted()
          const answering = answer !== undefined
          throw modelError(call?.fault() ?? faultOfThrown(error, { answering }), { model: request.model, endpoint })
        }
      },
      return: async () => end(),
    }
  }

  function stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    return { [Symbol.asyncIterator]: () => read(request, signal) }
  }

  return { name, stream, unsent: (request) => unsentSettings(request, (one) => format.body(one, quirks)) }
}

/** Bodies with more characters are not built as one string. */
const longBody = 256 * 1024

/** The bytes of a body. For a long one there is only one copy, outside the heap. */
function bodyBytes(body: JsonObject): readonly Buffer[] {
  if (!isLongJson(body, longBody)) return [Buffer.from(JSON.stringify(body))]
  const parts: Buffer[] = []
  jsonChunks(body, 'as written', (chunk) => void parts.push(Buffer.from(chunk)))
  return parts
}

type Send = (url: string, body: readonly Buffer[], call: Call) => Promise<HttpAnswer>

/**
 * Sends the requests of one endpoint. Does not follow redirects, because they could leak the key, and turns every
 * unsuccessful status into a fault of the call.
 */
function createSender(format: WireFormat, { apiKey, headers = {}, timeouts, env = {} }: TransportOptions): Send {
  const sent = {
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'user-agent': 'baton',
    ...format.headers,
    ...(apiKey === undefined ? {} : format.keyHeaders(apiKey)),
    ...Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value])),
  }
  const whenConnected = { ms: timeouts.headersMs, fault: headersTimeout }

  return async (url, body, call) => {
    const answer = await exchange({
      url,
      headers: sent,
      body,
      proxy: proxyOf(new URL(url), env),
      onConnected: () => call.limit(whenConnected),
      onOpened: (close) => call.onEnd(close),
    })
    if (answer.status >= 200 && answer.status < 300) return answer
    return call.fail(
      faultOfStatus({
        status: answer.status,
        body: await readErrorText(answer.body),
        location: answer.headers.location,
        retryAfterMs: retryAfterOf(answer.headers, Date.now()),
      }),
    )
  }
}

type Settings = Pick<ModelRequest, 'reasoning_effort' | 'temperature' | 'top_p' | 'seed' | 'max_tokens'>
type Name = keyof Settings

/** `max_tokens` is always sent, but a low limit can prevent other settings. */
const names: readonly Name[] = ['reasoning_effort', 'temperature', 'top_p', 'seed', 'max_tokens']

/**
 * The settings of a request that are not sent. They are found by comparing the body with and without each of them, so
 * that formats need not list separately what they omit. An effort of `none` requests nothing.
 * @param body builds the body that is sent for a request
 */
export function unsentSettings(
  request: ModelRequest,
  body: (request: ModelRequest) => JsonObject,
): readonly UnsentSetting[] {
  const settings: Settings = Object.fromEntries(
    names
      .filter((name) => request[name] !== undefined && request[name] !== 'none')
      .map((name) => [name, request[name]]),
  )
  const given = names.filter((name) => settings[name] !== undefined)

  function isSent(name: Name, others: Settings): boolean {
    const bare = { ...others, model: request.model, messages: [] }
    return JSON.stringify(body(bare)) !== JSON.stringify(body({ ...bare, [name]: settings[name] }))
  }

  /** The settings that prevent this one from being sent; empty if it is not sent on its own either. */
  function rivalsOf(name: Name): readonly Name[] {
    const others = given.filter((other) => other !== name)
    const rival = others.find((other) => isSent(name, without(settings, name, other)))
    if (rival !== undefined) return [rival]
    return isSent(name, {}) ? others : []
  }

  return given
    .filter((name) => name !== 'max_tokens' && !isSent(name, without(settings, name)))
    .map((name) => ({ name, ...explained(name, rivalsOf(name), settings) }))
}

function explained(name: Name, rivals: readonly Name[], settings: Settings): Pick<UnsentSetting, 'reason' | 'hint'> {
  if (rivals.length === 0)
    return { reason: 'is not known to support it', hint: `Remove ${name}, or use another model.` }
  const shown = rivals.map((rival) => `${rival} = ${JSON.stringify(settings[rival])}`).join(' and ')
  const hint = rivals[0] === 'max_tokens' ? `Raise max_tokens, or remove ${name}.` : 'Remove one of them.'
  return { reason: `does not support it together with ${shown}`, hint }
}

function without(settings: Settings, ...left: readonly Name[]): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !left.some((other) => other === name)))
}
