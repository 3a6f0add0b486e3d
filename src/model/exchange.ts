import type {
  Agent,
  AgentOptions,
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  RequestOptions,
} from 'node:http'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { type Proxy, proxyAgent, proxyFailure, refuseProxyAnswer } from '../base/proxy.ts'
import type { BodyReader } from './call.ts'

export interface HttpQuestion {
  readonly url: string
  /** Default: `POST`. */
  readonly method?: 'GET' | 'POST'
  /** It may have an effect each time it is sent. */
  readonly isOnce?: boolean
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: readonly Uint8Array[]
  readonly proxy?: Proxy | undefined
  /** Called as the lookup of the host's name begins and ends, if it has one and a new connection is opened. */
  readonly onResolving?: (isResolving: boolean) => void
  /**
   * Called when the request is sent on an established connection, including TLS; called again if it is sent a second
   * time.
   */
  readonly onConnected: () => void
  /** Receives a function that aborts the exchange and closes its connection; a no-op after the end of the answer. */
  readonly onOpened: (close: () => void) => void
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Decompressed. If the body breaks off, a read rejects after the data received before. */
  readonly body: BodyReader
}

/**
 * Sends one request with the HTTP client of Node, on a pooled connection. Not with `fetch`, whose streams cost more than
 * the sending itself, and which does not report when it is connected. Redirects are not followed, and there is no time
 * limit. A server may close a kept-alive connection just as the request is sent on it: then there is no answer, and the
 * request is sent again once, on a different connection.
 * @throws the error of Node, with its `code`, if no answer starts
 */
export async function exchange(question: HttpQuestion): Promise<HttpAnswer> {
  const client = await (question.url.startsWith('https:') ? import('node:https') : import('node:http'))
  const { url, proxy } = question
  const agent =
    proxy === undefined ? agentOf(client) : await proxyAgent(proxy, url.startsWith('https:') ? 'https:' : 'http:')
  const first = ask(question, client, agent)
  try {
    return await first.answer
  } catch (error) {
    if (question.isOnce === true || !first.request.reusedSocket || !isReset(error)) throw error
    return await ask(question, client, agent).answer
  }
}

/** `node:http` or `node:https`. */
interface Client {
  readonly request: (url: string, options: RequestOptions) => ClientRequest
  readonly Agent: new (options: AgentOptions) => Agent
}

/**
 * Like Node's own pool, except that it keeps more than 256 connections per host. Pools and connections outlive runs.
 */
const pool: AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000, maxFreeSockets: 4_096 }
const agents = new Map<Client['Agent'], Agent>()

function agentOf({ Agent }: Client): Agent {
  const known = agents.get(Agent) ?? new Agent(pool)
  agents.set(Agent, known)
  return known
}

interface Asked {
  readonly request: ClientRequest
  readonly answer: Promise<HttpAnswer>
}

function ask(
  { url, method = 'POST', headers, body, proxy, onResolving, onConnected, onOpened }: HttpQuestion,
  client: Client,
  agent: Agent,
): Asked {
  const length = body.reduce((bytes, part) => bytes + part.length, 0)
  const request = client.request(url, {
    method,
    headers: method === 'GET' ? { ...headers } : { ...headers, 'content-length': length },
    agent,
  })
  onOpened(() => {
    // an error that is not a reset, so that a request closed here is not sent again
    if (!request.destroyed) request.destroy(new Error('the exchange was closed'))
  })
  if (proxy !== undefined) refuseProxyAnswer(request, proxy, (error) => request.destroy(error))
  request.once('socket', (socket) => {
    const { hostname } = new URL(url)
    if (socket.connecting && onResolving && proxy === undefined && isIP(hostname.replace(/^\[|\]$/g, '')) === 0) {
      onResolving(true)
      socket.once('lookup', () => onResolving(false))
    }
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected)
    else onConnected()
  })
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    // also needed later: errors after the start of the answer are emitted here, but are reported by its body
    request.on('error', (error) => reject(proxy === undefined ? error : proxyFailure(error, proxy)))
    request.once('response', (response) => resolve(answerOf(response)))
  })
  for (const part of body) request.write(part)
  request.end()
  return { request, answer }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

function answerOf(response: IncomingMessage): HttpAnswer {
  const { statusCode: status = 0, headers } = response
  const { source, failure } = decompressed(response, headers['content-encoding'] ?? '')
  return { status, headers, body: readerOf(source, failure) }
}

// data is flushed immediately, and a truncated compressed stream is left to the reader of the answer to judge
const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }
const decoders: { readonly [encoding: string]: () => NodeJS.ReadWriteStream & Readable } = {
  gzip: () => createGunzip(zlib),
  'x-gzip': () => createGunzip(zlib),
  deflate: () => createInflate(zlib),
  br: () => createBrotliDecompress(brotli),
}

interface Decompressed {
  readonly source: Readable
  /** Set at the end of `source` if what it decompresses broke off before. */
  readonly failure: () => Error | undefined
}

/** Decompresses a body that a server compressed without being asked to. Unknown encodings are left alone. */
function decompressed(response: IncomingMessage, encoding: string): Decompressed {
  let source: Readable = response
  let failure: Error | undefined
  const names = encoding.split(',').map((name) => name.trim().toLowerCase())
  for (const name of names.toReversed()) {
    const decoder = decoders[name]?.()
    if (decoder === undefined) break
    // ended, not destroyed: it still has to deliver what arrived before
    source.once('error', (error) => {
      failure ??= error
      decoder.end()
    })
    source = source.pipe(decoder)
  }
  return { source, failure: () => failure }
}

/** Bytes buffered for a slow reader before the sender is paused. */
const mostKept = 256 * 1024

/** Returns everything that has arrived by the time of a read, so that adjacent chunks cost only one read. */
function readerOf(source: Readable, failure: Decompressed['failure']): BodyReader {
  // Emptied, never replaced. If many arrays created at one place in the code live long, for example while waiting for
  // the first chunks, V8 allocates later ones in the old generation, and their contents are kept until the next major
  // GC.
  const pieces: Uint8Array[] = []
  let kept = 0
  let end: { readonly error?: Error } | undefined
  let wake: (() => void) | undefined

  function rouse(): void {
    wake?.()
    wake = undefined
  }

  function finish(how: { readonly error?: Error }): void {
    end ??= how
    rouse()
  }

  source.on('data', (piece: Uint8Array) => {
    pieces.push(piece)
    kept += piece.length
    if (kept > mostKept) source.pause()
    rouse()
  })
  source.once('end', () => {
    const error = failure()
    finish(error === undefined ? {} : { error })
  })
  source.on('error', (error) => finish({ error }))

  function next(): Uint8Array | undefined {
    if (pieces.length > 0) return take()
    if (end?.error !== undefined) throw end.error
    return undefined
  }

  function take(): Uint8Array {
    const [first] = pieces
    const bytes = first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
    pieces.length = 0
    kept = 0
    if (source.isPaused()) source.resume()
    return bytes
  }

  return {
    // not an async function: passing bytes through another one costs as much as reading them
    read() {
      const hasCome = pieces.length > 0 || end !== undefined
      const come = hasCome ? Promise.resolve() : new Promise<void>((resolve) => (wake = resolve))
      return come.then(next)
    },
    cancel() {
      pieces.length = 0
      finish({})
    },
  }
}
