import { OpenAI } from 'openai'
import { readAnswer } from './answer.ts'
import { readErrorText } from './body.ts'
import { headersTimeout, openCall, type Call, type ModelTimeouts } from './call.ts'
import { chatBody } from './chat-request.ts'
import { readBaseUrl } from './base-url.ts'
import { modelError, type Endpoint } from './errors.ts'
import { faultOfStatus } from './faults.ts'
import type { ModelEvent, ModelProvider, ModelRequest } from './provider.ts'
import { faultOfThrown } from './thrown.ts'

export interface ChatProviderOptions {
  /** What the provider is called: `openai`, `gateway`, or its name in the config. */
  readonly name: string
  /** Root of the API, for example `https://api.openai.com/v1`. A query (`?api-version=…`) goes with every request. */
  readonly baseUrl: string
  /** Sent as a bearer token. Without it no Authorization header is sent at all. */
  readonly apiKey: string | undefined
  /** The environment variable the key comes from, for hints. */
  readonly apiKeyName?: string | undefined
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string }
  readonly timeouts: ModelTimeouts
  readonly fetch?: typeof fetch
}

/**
 * Streaming chat completions against any OpenAI-compatible endpoint or gateway (R281..R288, DESIGN 8).
 * Nothing is retried here. A stream that is left early, aborted or failed has closed its connection.
 * @throws BatonError CONFIG_INVALID when the base URL is none
 */
export function createChatProvider(options: ChatProviderOptions): ModelProvider {
  const { name, apiKey, headers = {}, timeouts } = options
  const base = readBaseUrl(options.baseUrl, name)
  const endpoint: Endpoint = {
    host: base.host,
    keyName: options.apiKeyName,
    keySent: apiKey !== undefined,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers), ...Object.values(base.query)],
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted()
    const call = openCall(signal, timeouts)
    let answering = false
    try {
      const limit = { ms: timeouts.headersMs, fault: headersTimeout }
      const body = chatBody(request, { host: base.host })
      const response = await call.within(limit, () => {
        return client(call).post('/chat/completions', { body }).asResponse()
      })
      answering = true
      for await (const events of readAnswer(response, { call, timeouts })) {
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

  function client(call: Call): OpenAI {
    return new OpenAI({
      baseURL: base.url,
      defaultQuery: base.query,
      apiKey: apiKey ?? 'none',
      organization: null,
      project: null,
      maxRetries: 0,
      logLevel: 'off',
      fetch: sender(call, { ...options, headers }),
    })
  }

  return { name, stream }
}

/**
 * The `fetch` the SDK is given. It sends our headers only, because the SDK adds more from the environment; it follows
 * no redirect, because a key could go with it; and it turns every other status into a fault of the call.
 */
function sender(call: Call, options: ChatProviderOptions): typeof fetch {
  const { apiKey, headers = {}, fetch: send = fetch } = options
  return async (url, init) => {
    const response = await send(url, {
      method: 'POST',
      body: init?.body ?? null,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'user-agent': 'baton',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...lowerCaseNames(headers),
      },
      redirect: 'manual',
      signal: call.signal,
    })
    if (response.ok) return response
    const location = response.headers.get('location') ?? undefined
    return call.fail(faultOfStatus({ status: response.status, body: await readErrorText(response), location }))
  }
}

function lowerCaseNames(headers: { readonly [name: string]: string }): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
