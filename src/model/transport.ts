import { OpenAI } from 'openai'
import { readAnswer } from './answer.ts'
import { readBaseUrl } from './base-url.ts'
import { readErrorText } from './body.ts'
import { connectTimeout, headersTimeout, openCall, type Call, type ModelTimeouts } from './call.ts'
import { watchConnections } from './connecting.ts'
import { patientDispatcher } from './dispatcher.ts'
import { modelError, type Endpoint } from './errors.ts'
import { longestTimer } from './alarm.ts'
import { faultOfStatus } from './faults.ts'
import type { ModelEvent, ModelProvider, ModelRequest } from './provider.ts'
import { retryAfterOf } from './retry-after.ts'
import { faultOfThrown } from './thrown.ts'
import { unsentSettings } from './unsent.ts'
import type { AnswerState, WireFormat } from './wire/format.ts'
import type { Quirks } from './wire/quirks.ts'

export interface TransportOptions {
  /** What the provider is called: `openai`, `gateway`, or its name in the config. */
  readonly name: string
  /** Root of the API, for example `https://api.openai.com/v1`. A query (`?api-version=…`) goes with every request. */
  readonly baseUrl: string
  /** Where that was written, for hints; left out for addresses that are built in. */
  readonly baseUrlName?: string | undefined
  readonly quirks: Quirks
  /** Goes into the headers the format names. Without it no such header is sent at all. */
  readonly apiKey: string | undefined
  /** The environment variable the key comes from, for hints. */
  readonly apiKeyName?: string | undefined
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string }
  readonly timeouts: ModelTimeouts
  readonly fetch?: typeof fetch
}

/**
 * The one HTTP stack below all wire formats (R276, R281..R288, DESIGN 8). Nothing is retried here. A stream that is left
 * early, aborted or failed has closed its connection.
 * @throws BatonError CONFIG_INVALID when the base URL is none
 */
export function createTransport<S extends AnswerState>(
  format: WireFormat<S>,
  options: TransportOptions,
): ModelProvider {
  const { name, apiKey, headers = {}, timeouts, quirks } = options
  const base = readBaseUrl(options.baseUrl, options.baseUrlName ?? name)
  const endpoint: Endpoint = {
    host: base.host,
    addressName: options.baseUrlName,
    keyName: options.apiKeyName,
    keySent: apiKey !== undefined,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers), ...Object.values(base.query)],
  }
  // the client hands on bytes as they are, so the body of a request tells which call it belongs to
  const calls = new WeakMap<object, Call>()
  const client = new OpenAI({
    baseURL: base.url,
    defaultQuery: base.query,
    apiKey: apiKey ?? 'none',
    organization: null,
    project: null,
    maxRetries: 0,
    // the limits are ours: those of the SDK say nothing about what was waited for
    timeout: longestTimer,
    logLevel: 'off',
    fetch: sender(calls, format, options),
  })

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted()
    const call = openCall(signal, timeouts)
    const body = Buffer.from(JSON.stringify(format.body(request, quirks)))
    calls.set(body, call)
    let answering = false
    try {
      const limit = { ms: timeouts.connectMs, fault: connectTimeout }
      const response = await call.within(limit, () => client.post(format.path(request), { body }).asResponse())
      answering = true
      const answer = readAnswer(response, { format, call, timeouts })
      for (let events = await answer.next(); events !== undefined; events = await answer.next()) {
        for (const event of events) {
          signal.throwIfAborted()
          yield event
        }
      }
    } catch (error) {
      signal.throwIfAborted()
      throw modelError(call.fault() ?? faultOfThrown(error, { answering }), { model: request.model, endpoint })
    } finally {
      call.close()
    }
  }

  return { name, stream, unsent: (request) => unsentSettings(request, (one) => format.body(one, quirks)) }
}

/**
 * The `fetch` the SDK is given. It sends our headers only, because the SDK adds more from the environment; it follows
 * no redirect, because a key could go with it; and it turns every other status into a fault of the call.
 */
function sender(calls: WeakMap<object, Call>, format: WireFormat, options: TransportOptions): typeof fetch {
  const { apiKey, headers = {}, timeouts, fetch: send = fetch } = options
  const connections = watchConnections()
  const sent = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'user-agent': 'baton',
    ...format.headers,
    ...(apiKey === undefined ? {} : format.keyHeaders(apiKey)),
    ...lowerCaseNames(headers),
  }
  const whenConnected = { ms: timeouts.headersMs, fault: headersTimeout }
  const dispatcher = patientDispatcher(timeouts)
  const shared = { method: 'POST', headers: sent, redirect: 'manual', ...(dispatcher && { dispatcher }) } as const

  return async (url, init) => {
    const body = init?.body ?? null
    const call = typeof body === 'object' && body !== null ? calls.get(body) : undefined
    if (call === undefined) throw new Error('a request that no call has made')
    const { signal } = call
    const response = await connections
      .send(
        () => send(url, { ...shared, body, signal }),
        () => call.limit(whenConnected),
      )
      // the SDK forgets the cause of some errors
      .catch((error: unknown) => {
        signal.throwIfAborted()
        return call.fail(faultOfThrown(error, { answering: false }))
      })
    if (response.ok) return response
    return call.fail(
      faultOfStatus({
        status: response.status,
        body: await readErrorText(response),
        location: response.headers.get('location') ?? undefined,
        retryAfterMs: retryAfterOf(response.headers, Date.now()),
      }),
    )
  }
}

function lowerCaseNames(headers: { readonly [name: string]: string }): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
