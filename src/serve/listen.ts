import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { BatonError, messageOf } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'

/** Limits of a server across all clients. */
export interface Limits {
  /** Maximum number of open connections; an agent or page needs a few. Others are dropped. */
  readonly connections: number
  /** Timeout for the headers of a request. */
  readonly headMs: number
  /** Timeout for receiving a whole request. Responses have none, because they can take as long as a run. */
  readonly requestMs: number
  /** Maximum total size of all bodies being received, by their declared lengths. */
  readonly bodyBytes: number
}

const usual: Limits = { connections: 512, headMs: 10_000, requestMs: 60_000, bodyBytes: 128 * 1024 * 1024 }

export interface LocalServerOptions {
  /** 0: any free port. */
  readonly port: number
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits> | undefined
  /** Maximum size of a body. */
  readonly mostBytes: number
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

/** Compares in constant time. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(secret)))
}

/** The bearer token of a request; empty if there is none. */
export function bearerToken(request: Request): string {
  return /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
}

const localNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether an address is a loopback address of this machine. */
export function isLocal(address: string): boolean {
  return localNames.has(URL.canParse(address) ? new URL(address).hostname : '')
}

/** Handles requests. `refuse` decides by the headers, before any body is read. */
export interface Answering {
  readonly refuse: (request: Request) => Response | undefined
  readonly answer: (request: Request) => Promise<Response>
}

/**
 * Listens on the loopback interface only, with limits for connections, headers and bodies. `answering` is called once
 * the port is known.
 * @throws BatonError USAGE if the port cannot be used
 */
export async function listenLocally(
  { port, limits, mostBytes }: LocalServerOptions,
  answering: (port: number) => Answering,
): Promise<LocalServer> {
  const { connections, headMs, requestMs, bodyBytes } = { ...usual, ...limits }
  const room = createRoom(bodyBytes)
  let answers: Answering | undefined
  const answer = async (request: Request): Promise<Response> => {
    if (answers === undefined) return new Response('Not ready\n', { status: 503 })
    const refused = answers.refuse(request)
    if (refused !== undefined) return refused
    const leave = room.enter(bodySize(request, mostBytes))
    if (leave === undefined)
      return new Response('Too many requests in progress\n', { status: 503, headers: { 'retry-after': '5' } })
    return answers.answer(request).finally(leave)
  }
  const listener = getRequestListener(answer, { overrideGlobalObjects: false })
  const checks = { connectionsCheckingInterval: Math.min(2_000, headMs, requestMs) }
  const server = createServer(checks, (request, response) => void listener(request, response))
  server.maxConnections = connections
  server.headersTimeout = headMs
  server.requestTimeout = requestMs
  await bind(server, port)
  const { port: bound } = server.address() as AddressInfo
  answers = answering(bound)
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

/** A byte budget shared by all requests in progress. */
function createRoom(most: number) {
  let taken = 0
  return {
    /**
     * Reserves bytes and returns a function that releases them; undefined: no room. A single request may exceed the
     * budget.
     */
    enter(size: number): (() => void) | undefined {
      if (taken > 0 && taken + size > most) return undefined
      taken += size
      return () => void (taken -= size)
    },
  }
}

/** The declared size of a body, or the maximum if it declares none. */
function bodySize({ method, headers }: Request, most: number): number {
  if (method !== 'POST') return 0
  const length = headers.get('content-length')
  return length !== null && /^\d+$/.test(length) ? Math.min(Number(length), most) : most
}
