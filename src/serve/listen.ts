import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { BatonError, messageOf } from '../base/error.ts'
import { isDeeper, maxJsonDepth } from '../base/json.ts'
import { type Gate, type ClientKind, authorize, securityHeaders, tooLarge } from './gate.ts'
import { problemOf, Refusal, refusalAnswer } from './refusal.ts'

/** Limits of a server across all clients. */
export interface Limits extends MostConnections {
  /** Timeout for the headers of a request. */
  readonly headMs: number
  /** Timeout for receiving a whole request. Responses have none, because they can take as long as a run. */
  readonly requestMs: number
  /** Maximum total size of all bodies being received, of each what exceeds `freeBytes`. */
  readonly bodyBytes: number
}

const defaults: Limits = {
  connections: 512,
  strangers: 128,
  headMs: 10_000,
  requestMs: 60_000,
  bodyBytes: 128 * 1024 * 1024,
}

/** The start of each body that is always accepted, so that large ones keep nobody out. */
const freeBytes = 64 * 1024

/** Milliseconds that a refused client has to read the response, before its connection is closed. */
const partingMs = 1_000

export interface LocalServerOptions extends Pick<Gate, 'mostBytes' | 'isKnown' | 'isPublic' | 'hooks'> {
  /** 0: any free port. */
  readonly port: number
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits> | undefined
  /** Handles requests that have passed the gate. The body of a request with the secret, or of a hook, has been received. */
  readonly answer: (request: Request, who: ClientKind) => Promise<Response>
}

export interface LocalServer {
  readonly port: number
  /** Stops accepting connections. */
  readonly stopListening: () => void
  /** Closes the remaining connections. */
  readonly close: () => Promise<void>
}

/** A random secret, if none was given. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Listens on the loopback interface only, with limits for connections, headers and bodies. Every response has the
 * security headers, also those of Node's own parser.
 * @throws BatonError USAGE if the port cannot be used
 */
export async function listenLocally({ port, limits, answer, ...rest }: LocalServerOptions): Promise<LocalServer> {
  const most = { ...defaults, ...limits }
  const { headMs, requestMs, bodyBytes } = most
  const { mostBytes } = rest
  const room = createRoom(bodyBytes)
  const connections = createConnections(most)
  const responses = new WeakMap<Duplex, ServerResponse>()
  const clients = new WeakMap<IncomingMessage, ClientKind>()
  const leaving = new WeakSet<Duplex>()
  let bound = 0

  const listener = getRequestListener(
    async (request, { incoming }) => {
      try {
        const who = clients.get(incoming as IncomingMessage) ?? 'public'
        if (who === 'public' || incoming.method !== 'POST') return await answer(request, who)
        const most = who === 'hook' ? (rest.hooks?.mostBytes ?? 0) : mostBytes
        const body = await readBody(incoming as IncomingMessage, { mostBytes: most, room })
        const { method, headers, signal } = request
        const received = new Request(request.url, { method, headers, signal, body: new Uint8Array(body) })
        return await answer(received, who)
      } catch (error) {
        return refusalAnswer(error)
      }
    },
    { overrideGlobalObjects: false },
  )

  function take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    responses.set(socket, outgoing)
    for (const [name, value] of Object.entries(securityHeaders)) outgoing.setHeader(name, value)
    outgoing.once('finish', () => {
      if (!incoming.complete) part(socket)
    })
    try {
      const who = authorize(incoming, { ...rest, port: bound })
      connections.heard(socket, who)
      clients.set(incoming, who)
      if (who !== 'public' && /^100-continue$/i.test(incoming.headers.expect ?? '')) outgoing.writeContinue()
      void listener(incoming, outgoing)
    } catch (error) {
      connections.heard(socket, 'public')
      refuse(outgoing, error)
    }
  }

  // a missing Host is refused at the gate, like a wrong one
  const options = { connectionsCheckingInterval: Math.min(2_000, headMs, requestMs), requireHostHeader: false }
  const server = createServer(options, take)
  // otherwise Node would ask for the body itself
  server.on('checkContinue', take)
  server.on('checkExpectation', take)
  server.prependListener('connection', connections.enter)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (leaving.has(socket)) return
    leaving.add(socket)
    const response = responses.get(socket)
    const hasBegun = response?.headersSent === true && !response.writableFinished
    if (!socket.writable || hasBegun) socket.destroy()
    else refuseUnread(socket, error)
  })
  server.headersTimeout = headMs
  server.requestTimeout = requestMs
  await bind(server, port)
  bound = (server.address() as AddressInfo).port
  let closed: Promise<void> | undefined
  const stopListening = (): void => void (closed ??= new Promise((resolve) => server.close(() => resolve())))
  return {
    port: bound,
    stopListening,
    async close() {
      stopListening()
      server.closeAllConnections()
      await closed
    },
  }
}

function bind(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const hint = 'Choose another port with --port, or omit it to use a free one.'
      reject(new BatonError('USAGE', `cannot listen on port ${port}: ${messageOf(error)}`, { hint }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}

/** Responds without reading the body. */
function refuse(outgoing: ServerResponse, error: unknown): void {
  const { status, body } = problemOf(error)
  const text = JSON.stringify(body)
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  })
  outgoing.end(text)
}

/** Responds to what Node could not read as a request. */
function refuseUnread(socket: Duplex, { code }: NodeJS.ErrnoException): void {
  const { status, body } = problemOf(unreadable(code))
  const text = JSON.stringify(body)
  const headers = {
    ...securityHeaders,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
  part(socket)
}

function unreadable(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal(431, 'the headers are too large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new Refusal(413, 'the chunk extensions are too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'the request was not received in time')
  return new Refusal(400, 'the request is not valid HTTP')
}

/** Closes a connection whose client may still be sending: at once, it could not read the response any more. */
function part(socket: Duplex | Socket): void {
  const timer = setTimeout(() => socket.destroy(), partingMs).unref()
  socket.once('close', () => clearTimeout(timer))
}

interface MostConnections {
  /** Maximum number of open connections; an agent or page needs a few. */
  readonly connections: number
  /** Of these, the maximum that have not sent the secret. */
  readonly strangers: number
}

/** The open connections of a server. Those that have not sent the secret keep nobody out. */
interface Connections {
  /** A new connection. If there is no room, it takes the place of the stranger that was idle longest, or is dropped. */
  readonly enter: (socket: Socket) => void
  /** A request has arrived: with the secret (the connection stays until it ends), or without. */
  readonly heard: (socket: Socket, who: ClientKind) => void
}

function createConnections({ connections, strangers: most }: MostConnections): Connections {
  /** In order of their last request, the most recent last. */
  const strangers = new Set<Socket>()
  const known = new Set<Socket>()

  return {
    enter(socket) {
      if (strangers.size >= most || strangers.size + known.size >= connections) {
        const [oldest = socket] = strangers
        strangers.delete(oldest)
        oldest.destroy()
        if (oldest === socket) return
      }
      strangers.add(socket)
      socket.once('close', () => {
        strangers.delete(socket)
        known.delete(socket)
      })
    },
    heard(socket, who) {
      const isStranger = strangers.delete(socket)
      if (who === 'known') known.add(socket)
      else if (isStranger) strangers.add(socket)
    },
  }
}

/** A budget of bytes shared by all bodies in memory. */
interface Room {
  /** Whether there is room for so many bytes, which are then taken. */
  readonly take: (bytes: number) => boolean
  readonly leave: (bytes: number) => void
}

function createRoom(most: number): Room {
  let taken = 0
  return {
    take(bytes) {
      if (bytes > 0 && taken + bytes > most) return false
      taken += bytes
      return true
    },
    leave: (bytes) => void (taken -= bytes),
  }
}

/**
 * Receives a body. What counts is what has arrived, not what was announced.
 * @throws Refusal 413 above the size limit, 503 if there is no room, 400 if it is nested too deeply
 */
async function readBody(
  incoming: IncomingMessage,
  { mostBytes, room }: { readonly mostBytes: number; readonly room: Room },
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  let taken = 0
  try {
    await new Promise<void>((resolve, reject) => {
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length
        const more = Math.max(0, size - freeBytes) - taken
        if (size > mostBytes) reject(tooLarge(mostBytes))
        else if (!room.take(more)) reject(new Refusal(503, 'too many requests in progress'))
        else {
          taken += more
          chunks.push(chunk)
          return
        }
        // nothing more is kept
        incoming.removeAllListeners('data').resume()
      })
      incoming.once('end', resolve)
      incoming.once('error', reject)
      incoming.once('close', () => reject(new Refusal(400, 'the request was not received')))
    })
  } finally {
    room.leave(taken)
  }
  const body = Buffer.concat(chunks)
  if (isTooDeep(body)) throw new Refusal(400, `the body is nested deeper than ${maxJsonDepth} levels`)
  return body
}

/** Whether it is JSON that the code which reads it later cannot handle, because that code is recursive. */
function isTooDeep(body: Buffer): boolean {
  try {
    return isDeeper(JSON.parse(body.toString('utf8')), maxJsonDepth)
  } catch {
    return false
  }
}
