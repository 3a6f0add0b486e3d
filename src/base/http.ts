import { startLimit } from './clock.ts'
import { manyListeners } from './concurrency.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** `http` or `https`. User name and password are sent as basic authorization. */
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
  /** Maximum number of redirects; one more is an error. */
  readonly redirectLimit: number
  /** For the whole exchange, redirects included. */
  readonly timeLimitMs: number
  /** Maximum size of the body, uncompressed. */
  readonly maxBytes: number
  /** Called with each address before it is requested, also with those of redirects; throws for a forbidden one. */
  readonly check?: (url: URL) => void
}

export interface HttpResponse {
  readonly status: number
  /** The address of the response, after redirects; a fragment is never sent. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** By the charset of the response, else UTF-8; invalid bytes are U+FFFD. */
  readonly text: string
}

/**
 * Sends one HTTP request; any status is an answer. Redirects are followed as browsers do: POST becomes GET at 301, 302
 * and 303, and another origin does not receive authorization and cookies.
 * @throws the signal's reason, or Error saying what went wrong
 */
export async function sendHttp(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  const { response, url, bytes } = await receive(request, signal)
  const { status, headers } = response
  const [cookie] = headers.getSetCookie()
  const shown = Object.fromEntries([...headers].filter(([name]) => name !== 'set-cookie'))
  return {
    status,
    url: withoutFragment(shownUrl(url)),
    headers: cookie === undefined ? shown : { ...shown, 'set-cookie': cookie },
    text: decoderFor(headers.get('content-type') ?? '').decode(bytes),
  }
}

/** The same for a body that is not text. */
export async function downloadBytes(
  request: HttpRequest,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
  const { response, bytes } = await receive(request, signal)
  return { status: response.status, bytes }
}

interface Received {
  readonly response: Response
  /** Of the last redirect. */
  readonly url: URL
  readonly bytes: Uint8Array
}

async function receive(request: HttpRequest, signal: AbortSignal): Promise<Received> {
  const limit = new AbortController()
  const endLimit = startLimit(request.timeLimitMs, () => limit.abort())
  try {
    return await follow(request, AbortSignal.any([manyListeners(signal), limit.signal]))
  } catch (error) {
    signal.throwIfAborted()
    if (limit.signal.aborted) throw new Error(`it took longer than ${request.timeLimitMs / 1000} s`, { cause: error })
    throw error
  } finally {
    endLimit()
  }
}

async function follow(first: HttpRequest, signal: AbortSignal): Promise<Received> {
  let request = first
  for (let redirects = 0; ; redirects += 1) {
    const response = await exchange(request, signal)
    const target = redirectTarget(response, request.url)
    if (target === undefined)
      return { response, url: request.url, bytes: await readBody(response, first.maxBytes, signal) }
    await response.body?.cancel()
    if (redirects >= first.redirectLimit) throw new Error(`it redirects more than ${first.redirectLimit} times`)
    request = redirected(request, response.status, target)
  }
}

async function exchange({ method, url, headers, body, check }: HttpRequest, signal: AbortSignal): Promise<Response> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not http: or https:`)
  check?.(url)
  try {
    return await fetch(shownUrl(url), {
      method,
      headers: headersFor(url, headers),
      redirect: 'manual',
      signal,
      ...(body === undefined ? {} : { body }),
    })
  } catch (error) {
    // fetch throws an error whose cause is the reason of a failed connection
    throw error instanceof Error && error.cause instanceof Error ? error.cause : error
  }
}

function headersFor(url: URL, given: HttpRequest['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of given) headers.append(name, value)
  if ((url.username !== '' || url.password !== '') && !headers.has('authorization')) {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  }
  return headers
}

function redirectTarget({ status, headers }: Response, base: URL): URL | undefined {
  const location = [301, 302, 303, 307, 308].includes(status) ? headers.get('location') : null
  return location === null ? undefined : new URL(location, base)
}

function redirected({ body, ...request }: HttpRequest, status: number, url: URL): HttpRequest {
  const isSameHost = url.origin === request.url.origin
  const headers = request.headers.filter(([name]) => isSameHost || !/^(?:authorization|cookie)$/i.test(name))
  if (isSameHost && url.username === '')
    Object.assign(url, { username: request.url.username, password: request.url.password })
  const becomesGet = status === 303 || (status <= 302 && request.method === 'POST')
  if (!becomesGet) return { ...request, url, headers, ...(body === undefined ? {} : { body }) }
  return { ...request, url, method: 'GET', headers: headers.filter(([name]) => !/^content-/i.test(name)) }
}

async function readBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    signal.throwIfAborted()
    size += chunk.length
    // leaving the loop cancels the stream
    if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decoderFor(contentType: string): { decode(bytes: Uint8Array): string } {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w.:-]+)/i.exec(contentType) ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** A URL without user name and password, as it may be shown and recorded. */
export function shownUrl(url: URL): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

function withoutFragment(url: string): string {
  return url.replace(/#.*/s, '')
}
