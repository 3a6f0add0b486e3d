import { lookup } from 'node:dns'
import { lookup as resolveName } from 'node:dns/promises'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib'
import { isPrivateAddress } from './address.ts'
import { startLimit } from './clock.ts'
import { manyListeners } from './concurrency.ts'
import { decodeText } from './decode-text.ts'
import { proxyAgent, proxyFailure, proxyOf, refuseProxyAnswer } from './proxy.ts'
import { shownUrl } from './shown-url.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** `http` or `https`. User name and password are sent as basic authentication. */
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
  /** Maximum number of redirects; one more is an error. */
  readonly redirectLimit: number
  /** Names the proxy, if there is one. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** For the whole exchange, including redirects. */
  readonly timeLimitMs: number
  /** Maximum size of the body, uncompressed. */
  readonly maxBytes: number
  /** What happens to a larger body; default: it is an error. */
  readonly larger?: 'refused' | 'cut'
  /** Called with the response head before the body is read; false: the body is not read. */
  readonly wantsBody?: (head: ResponseHead) => boolean
  /** Called with each URL before it is requested, including those of redirects; throws for a forbidden one. */
  readonly check?: (url: URL) => void
  /**
   * Called before connecting to an address of this machine or a private network; throws if that is not allowed.
   * `redirected`: a public address redirected there. By default only redirects are refused.
   */
  readonly checkPrivate?: (url: URL, how: 'asked' | 'redirected') => void
}

interface ResponseHead {
  readonly status: number
  readonly headers: Headers
}

export interface HttpResponse {
  readonly status: number
  /** The URL of the response, after redirects; a fragment is never sent. */
  readonly url: string
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string>>
  /** Decoded by the charset of the response, else as UTF-8; invalid bytes are U+FFFD. */
  readonly text: string
}

/**
 * Sends one HTTP request; any status is a valid response. Redirects are followed as browsers do: POST becomes GET at
 * 301, 302 and 303. A different host gets only the headers that say what the client understands, and never the body: a
 * redirect that would send the body there is an error. The resolved addresses of a host are checked and then connected
 * to, so that the name cannot be resolved to a different address in between. A proxy resolves names itself: what they
 * resolve to here is checked, if they do.
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
    text: decodeText(bytes, headers.get('content-type') ?? ''),
  }
}

export interface Download extends ResponseHead, Body {
  /** As in `HttpResponse`. */
  readonly url: string
}

/** Like `sendHttp`, for a body that is not text or of unknown type. */
export async function downloadBytes(request: HttpRequest, signal: AbortSignal): Promise<Download> {
  const { response, url, bytes, isCut } = await receive(request, signal)
  const { status, headers } = response
  return { status, headers, url: withoutFragment(shownUrl(url)), bytes, isCut }
}

interface Received extends Body {
  readonly response: Response
  /** Of the last redirect. */
  readonly url: URL
}

interface Body {
  /** Empty if it was not wanted. */
  readonly bytes: Uint8Array
  /** The body was larger, and this is its start. */
  readonly isCut: boolean
}

/** The head of a response, and its body as it arrives, decompressed. */
interface Response extends ResponseHead {
  readonly body: Readable
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
  const reached = { outside: false }
  let request = first
  for (let redirects = 0; ; redirects += 1) {
    const response = await exchange(request, reached, signal)
    const target = redirectTarget(response, request.url)
    if (target === undefined) return { response, url: request.url, ...(await readBody(response, first, signal)) }
    response.body.destroy()
    if (redirects >= first.redirectLimit) throw new Error(`it redirects more than ${first.redirectLimit} times`)
    request = redirected(request, response.status, target)
  }
}

/** Whether a public address was connected to, by the request or one that redirected to it. */
interface Reached {
  outside: boolean
}

async function exchange(request: HttpRequest, reached: Reached, signal: AbortSignal): Promise<Response> {
  const { method, url, headers, body, check } = request
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not http: or https:`)
  check?.(url)
  const toAddress = addressCheck(request, reached)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) toAddress(host)
  const proxy = proxyOf(url, request.env)
  const agent = proxy && (await proxyAgent(proxy, url.protocol))
  if (proxy !== undefined && isIP(host) === 0) await checkName(host, toAddress)
  const { request: send } = url.protocol === 'http:' ? await import('node:http') : await import('node:https')
  signal.throwIfAborted()
  const options: RequestOptions = {
    method,
    headers: Object.fromEntries(headersFor(url, headers)),
    agent: agent ?? false,
    signal,
    ...(proxy === undefined ? { lookup: checkedLookup(toAddress) } : {}),
  }
  return new Promise((resolve, reject) => {
    const sent = send(shownUrl(url), options, (answer) => resolve(responseOf(answer)))
    sent.on('error', (error) => reject(proxy === undefined ? error : proxyFailure(error, proxy)))
    if (proxy !== undefined) refuseProxyAnswer(sent, proxy, (error) => sent.destroy(error))
    sent.end(body)
  })
}

function addressCheck({ url, checkPrivate = refuseRedirected }: HttpRequest, reached: Reached) {
  const { outside } = reached
  return (address: string): void => {
    if (isPrivateAddress(address)) checkPrivate(url, outside ? 'redirected' : 'asked')
    else reached.outside = true
  }
}

const refuseRedirected: NonNullable<HttpRequest['checkPrivate']> = (url, how) => {
  if (how === 'redirected') throw new Error(`it redirects to ${url.host}, which is in a private network`)
}

/** Resolves a host and checks all its addresses; exactly these are connected to. */
function checkedLookup(check: (address: string) => void): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      try {
        for (const { address } of found) check(address)
      } catch (refusal) {
        return callback(refusal as Error, [])
      }
      const [first] = found
      if (options.all === true || first === undefined) callback(null, found)
      else callback(null, first.address, first.family)
    })
}

async function checkName(host: string, check: (address: string) => void): Promise<void> {
  const found = await resolveName(host, { all: true }).catch(() => [])
  for (const { address } of found) check(address)
}

function responseOf(answer: IncomingMessage): Response {
  const headers = new Headers()
  for (let index = 0; index < answer.rawHeaders.length; index += 2) {
    headers.append(answer.rawHeaders[index] ?? '', answer.rawHeaders[index + 1] ?? '')
  }
  return { status: answer.statusCode ?? 0, headers, body: unpacked(answer, headers.get('content-encoding')) }
}

/** A truncated body is decompressed as far as possible, as browsers do. */
function unpacked(body: IncomingMessage, encoding: string | null): Readable {
  const flush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
  const forward = (unpack: Readable & NodeJS.WritableStream): Readable => {
    // an error of either stream is reported by the stream that is read
    pipeline(body, unpack, () => undefined)
    return unpack
  }
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return forward(createUnzip(flush))
    case 'br':
      return forward(createBrotliDecompress())
    default:
      return body
  }
}

function headersFor(url: URL, given: HttpRequest['headers']): Headers {
  const headers = new Headers([['accept-encoding', 'gzip, deflate, br']])
  for (const [name, value] of given) headers.append(name, value)
  if (!headers.has('accept')) headers.set('accept', '*/*')
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

/** Headers that may be sent to a different host: they say what the client understands, and who sends the request. */
const harmlessHeaders = /^(?:accept|accept-language|user-agent)$/i

/** @throws Error if the body would go to another host */
function redirected({ body, ...request }: HttpRequest, status: number, url: URL): HttpRequest {
  const isSameHost = url.origin === request.url.origin || isSecured(request.url, url)
  const headers = request.headers.filter(([name]) => isSameHost || harmlessHeaders.test(name))
  if (isSameHost && url.username === '')
    Object.assign(url, { username: request.url.username, password: request.url.password })
  const becomesGet = status === 303 || (status <= 302 && request.method === 'POST')
  if (becomesGet)
    return { ...request, url, method: 'GET', headers: headers.filter(([name]) => !/^content-/i.test(name)) }
  if (body === undefined) return { ...request, url, headers }
  if (!isSameHost) throw new Error(`it redirects to ${url.host} with the body, which is not sent to another host`)
  return { ...request, url, headers, body }
}

/** The same host on its standard ports, from http to https. */
function isSecured(from: URL, to: URL): boolean {
  const isStandard = from.port === '' && to.port === ''
  return from.protocol === 'http:' && to.protocol === 'https:' && isStandard && from.hostname === to.hostname
}

async function readBody(
  { body, ...head }: Response,
  { maxBytes, larger = 'refused', wantsBody = () => true }: HttpRequest,
  signal: AbortSignal,
): Promise<Body> {
  if (!wantsBody(head)) {
    body.destroy()
    return { bytes: new Uint8Array(), isCut: false }
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted()
    size += chunk.length
    // leaving the loop cancels the stream
    if (size > maxBytes && larger === 'refused') throw new Error(`the response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
    if (size > maxBytes) break
  }
  const isCut = size > maxBytes
  const bytes = Buffer.concat(chunks)
  return { bytes: isCut ? bytes.subarray(0, maxBytes) : bytes, isCut }
}

function withoutFragment(url: string): string {
  return url.replace(/#.*/s, '')
}
