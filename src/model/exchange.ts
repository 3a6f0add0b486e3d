import type {
  Agent,
  AgentOptions,
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  RequestOptions,
} from 'node:http'
import type { Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { BodyReader } from './call.ts'

export interface HttpQuestion {
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: readonly Uint8Array[]
  /** Called when the request goes out on an open connection, TLS included; again when it is sent a second time. */
  readonly onConnected: () => void
  /** Is given what ends the exchange and closes its connection. After the end of an answer that does nothing. */
  readonly onOpened: (close: () => void) => void
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Decompressed. A body that breaks off rejects after what came before. */
  readonly body: BodyReader
}

/**
 * One `POST` by the HTTP client of Node, on a connection of its pool. Not by `fetch`, whose streams cost more than the
 * sending itself, and which does not say when there is a connection. No redirect is followed, and there is no time limit.
 * A server may close a connection that was kept in the same moment as the request goes out on it: nothing was answered
 * then, and the request is sent again once, on another.
 * @throws the error of Node, with its `code`, when no answer begins
 */
export async function exchange(question: HttpQuestion): Promise<HttpAnswer> {
  const client = await (question.url.startsWith('https:') ? import('node:https') : import('node:http'))
  const first = ask(question, client)
  try {
    return await first.answer
  } catch (error) {
    if (!first.request.reusedSocket || !isReset(error)) throw error
    return await ask(question, client).answer
  }
}

/** `node:http` or `node:https`. */
interface Client {
  readonly request: (url: string, options: RequestOptions) => ClientRequest
  readonly Agent: new (options: AgentOptions) => Agent
}

/** As Node's own, whose pool of a host keeps no more than 256 connections. They outlive runs, so the pools do too. */
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

function ask({ url, headers, body, onConnected, onOpened }: HttpQuestion, client: Client): Asked {
  const length = body.reduce((bytes, part) => bytes + part.length, 0)
  const request = client.request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': length },
    agent: agentOf(client),
  })
  onOpened(() => {
    // with an error of its own, which is no reset: what is closed here is not sent again
    if (!request.destroyed) request.destroy(new Error('the exchange was closed'))
  })
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected)
    else onConnected()
  })
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    // stays: what breaks after the answer has begun is told by its body as well
    request.on('error', reject)
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
  return { status, headers, body: readerOf(decompressed(response, headers['content-encoding'] ?? '')) }
}

// what came is given at once, and an end without the mark of the compression is for the reader of the answer to judge
const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }
const decoders: { readonly [encoding: string]: () => NodeJS.ReadWriteStream & Readable } = {
  gzip: () => createGunzip(zlib),
  'x-gzip': () => createGunzip(zlib),
  deflate: () => createInflate(zlib),
  br: () => createBrotliDecompress(brotli),
}

/** A body that a server has compressed without being asked to. What has an encoding that is not known stays as it is. */
function decompressed(response: IncomingMessage, encoding: string): Readable {
  let source: Readable = response
  const names = encoding.split(',').map((name) => name.trim().toLowerCase())
  for (const name of names.toReversed()) {
    const decoder = decoders[name]?.()
    if (decoder === undefined) break
    source.once('error', (error) => decoder.destroy(error))
    source = source.pipe(decoder)
  }
  return source
}

/** Bytes that are kept for a reader that is slower than the sender; more wait at the sender. */
const mostKept = 256 * 1024

/** Everything that has arrived by the time of a read is given together: neighbouring pieces cost one read. */
function readerOf(source: Readable): BodyReader {
  // Emptied, never replaced. Where many lists of one place in the code have lived long, as while the first pieces are waited
  // for, V8 makes the next ones among old objects, and what a list there has held is kept until all old objects are looked at.
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
  source.once('end', () => finish({}))
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
    // no async function: each that hands on what another one has read costs as much as reading it
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
