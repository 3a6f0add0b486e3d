import { isLongJson, jsonChunks } from '../base/json-pieces.ts'
import type { JsonObject } from '../base/json.ts'
import { proxyOf } from '../base/proxy.ts'
import { readErrorText } from './answer.ts'
import type { BaseUrl } from './base-url.ts'
import { type Call, headersTimeout, type ModelTimeouts } from './call.ts'
import type { Environment } from './choice.ts'
import { exchange, type HttpAnswer } from './exchange.ts'
import { faultOfStatus, retryAfterOf } from './faults.ts'

/** Which account of a host with OpenAI's formats is used. */
export interface Account {
  /** The host is one of Azure OpenAI, and this is the version of its API. */
  readonly apiVersion?: string
  readonly organization?: string
  readonly project?: string
}

/** What the requests to one endpoint have in common. */
export interface SendOptions {
  readonly base: BaseUrl
  /** The key, or the function that gets one that expires. If undefined, no header with a key is sent. */
  readonly apiKey: string | (() => Promise<string>) | undefined
  /** Only for OpenAI's formats. */
  readonly account?: Account | undefined
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string }
  readonly timeouts: ModelTimeouts
  /** Names the proxy, if there is one. */
  readonly env?: Environment | undefined
}

/**
 * Sends one request of a call to a path below the base URL. Redirects are not followed, because they could leak the
 * key, and every unsuccessful status is a fault of the call.
 */
export type Send = (path: string, body: JsonObject, call: Call) => Promise<HttpAnswer>

/** The headers that a format needs, with names in lower case. */
interface FormatHeaders {
  readonly always: Readonly<Record<string, string>>
  readonly withKey: (apiKey: string) => Readonly<Record<string, string>>
}

/** Sends the requests of a format that has no client of its own. */
export function createSender(options: SendOptions, { always, withKey }: FormatHeaders): Send {
  const { base, apiKey, timeouts, env } = options
  const before = { 'content-type': 'application/json', ...ownHeaders, ...always }
  const after = userHeaders(options)
  const keyHeaders = async () =>
    apiKey === undefined ? {} : withKey(typeof apiKey === 'string' ? apiKey : await apiKey())
  return async (path, body, call) => {
    const headers = { ...before, ...(await keyHeaders()), ...after }
    return post({ url: addressOf(base, path), headers, body: bodyBytes(body) }, call, { timeouts, env })
  }
}

/** The headers of every request, whatever its format. Names are in lower case. */
export const ownHeaders = {
  accept: 'application/json, text/event-stream',
  'accept-encoding': 'identity',
  'user-agent': 'baton',
} as const

/** The headers of the user, which take precedence, with names in lower case. */
export function userHeaders({ headers = {} }: Pick<SendOptions, 'headers'>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

interface Post {
  readonly url: string
  /** Default: `POST`. */
  readonly method?: 'GET' | 'POST'
  /** See `HttpQuestion`. */
  readonly isOnce?: boolean
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: readonly Uint8Array[]
}

/** Sends a request within the time limits of a call. */
export async function post(
  { headers, body, ...question }: Post,
  call: Call,
  { timeouts, env = {} }: Pick<SendOptions, 'timeouts' | 'env'>,
): Promise<HttpAnswer> {
  const whenConnected = { ms: timeouts.headersMs, fault: headersTimeout }
  const { url } = question
  const answer = await exchange({
    ...question,
    headers,
    body,
    proxy: proxyOf(new URL(url), env),
    onResolving: (is) => call.resolves(is),
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

/** The address of a path below a base URL. */
export function addressOf({ url, query }: BaseUrl, path: string): string {
  const address = new URL(`${url}${path}`)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  return address.href
}

/** Bodies with more characters are not built as one string. */
const longBody = 256 * 1024

/** Whether the bytes of a body have to be built in pieces, so that there is only one copy, outside the heap. */
export function isLongBody(body: JsonObject): boolean {
  return isLongJson(body, longBody)
}

export function bodyBytes(body: JsonObject): readonly Buffer[] {
  if (!isLongBody(body)) return [Buffer.from(JSON.stringify(body))]
  const parts: Buffer[] = []
  jsonChunks(body, 'as written', (chunk) => void parts.push(Buffer.from(chunk)))
  return parts
}
