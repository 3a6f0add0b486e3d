import { manyListeners } from './limit.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** `http` or `https`. A name and a password in it are sent as basic authorization. */
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
  /** How many redirects are followed; one more is an error. */
  readonly redirectLimit: number
  /** For all of it, redirects included. */
  readonly timeLimitMs: number
  /** Of the body, uncompressed. */
  readonly maxBytes: number
  /** Asked about each address before it is, also about those that redirects lead to; throws for one that must not be. */
  readonly check?: (url: URL) => void
}

export interface HttpResponse {
  readonly status: number
  /** Where the answer came from, after redirects. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** By the charset of the answer, else UTF-8; what is neither is U+FFFD. */
  readonly text: string
}

/**
 * One HTTP request to its end; any status is an answer. Redirects are followed as browsers do: POST becomes GET at 301,
 * 302 and 303, and another host is not sent authorization and cookies.
 * @throws the signal's reason, or Error saying what went wrong
 */
export async function sendHttp(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  return inTime(request, signal, readResponse)
}

/** The same for a body that is not text. */
export async function downloadBytes(
  request: HttpRequest,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
  return inTime(request, signal, async (response, { maxBytes }, stop) => ({
    status: response.status,
    bytes: await readBody(response, maxBytes, stop),
  }))
}

type ReadAnswer<T> = (response: Response, request: HttpRequest, signal: AbortSignal) => Promise<T>

async function inTime<T>(request: HttpRequest, signal: AbortSignal, read: ReadAnswer<T>): Promise<T> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), request.timeLimitMs)
  const either = AbortSignal.any([manyListeners(signal), limit.signal])
  try {
    return await follow(request, either, read)
  } catch (error) {
    signal.throwIfAborted()
    if (limit.signal.aborted) throw new Error(`it took longer than ${request.timeLimitMs / 1000} s`, { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function follow<T>(first: HttpRequest, signal: AbortSignal, read: ReadAnswer<T>): Promise<T> {
  let request = first
  for (let redirects = 0; ; redirects += 1) {
    const response = await exchange(request, signal)
    const target = redirectTarget(response, request.url)
    if (target === undefined) return read(response, request, signal)
    await response.body?.cancel()
    if (redirects >= first.redirectLimit) throw new Error(`it redirects more than ${first.redirectLimit} times`)
    request = redirected(request, response.status, target)
  }
}

async function exchange({ method, url, headers, body, check }: HttpRequest, signal: AbortSignal): Promise<Response> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not http: or https:`)
  check?.(url)
  const target = new URL(url)
  target.username = ''
  target.password = ''
  try {
    const sent = headersFor(url, headers)
    return await fetch(target, {
      method,
      headers: sent,
      redirect: 'manual',
      signal,
      ...(body === undefined ? {} : { body }),
    })
  } catch (error) {
    // the reason why a connection failed is the cause of what fetch throws
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

async function readResponse(
  response: Response,
  { url, maxBytes }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const body = await readBody(response, maxBytes, signal)
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'set-cookie'))
  const [cookie] = response.headers.getSetCookie()
  return {
    status: response.status,
    url: shownUrl(url),
    headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie },
    text: decoderFor(response.headers.get('content-type') ?? '').decode(body),
  }
}

async function readBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    signal.throwIfAborted()
    size += chunk.length
    // leaving the loop cancels the rest
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

/** A URL as it may be written down: without a name and a password. */
export function shownUrl(url: URL): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}
