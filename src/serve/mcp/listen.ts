import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { BatonError, messageOf } from '../../base/error.ts'
import { sha256 } from '../../base/hash.ts'
import { mostBytes, type WebServed } from './protocol.ts'

export interface ListenOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Whoever wants something has to send it as a bearer token. */
  readonly secret: string
  /** Left out: the usual ones. */
  readonly limits?: Partial<Limits>
}

/** What one server takes, whoever sends it. */
interface Limits {
  /** At once: an agent needs a few. Others are cut off. */
  readonly connections: number
  /** Until the head of a request is there. */
  readonly headMs: number
  /** Until the whole request is there: an answer takes as long as a run does, a body does not. */
  readonly requestMs: number
  /** Of all bodies that are being read, by what their heads say. */
  readonly bodyBytes: number
}

const usual: Limits = { connections: 512, headMs: 10_000, requestMs: 60_000, bodyBytes: 128 * 1024 * 1024 }

export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

/** A secret for a server that nobody has named one for. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Listens on this machine alone. Pages of other sites do not get through: a request must name this address, and what a
 * browser sends for a page must come from here.
 * @throws BatonError USAGE where the port cannot be used
 */
export async function listen(served: WebServed, { port, secret, limits }: ListenOptions): Promise<Listening> {
  const { connections, headMs, requestMs, bodyBytes } = { ...usual, ...limits }
  const room = createRoom(bodyBytes)
  const answer = async (request: Request): Promise<Response> => {
    const refused = refusal(request, secret)
    if (refused !== undefined) return refused
    if (new URL(request.url).pathname !== '/mcp') return new Response('Not found\n', { status: 404 })
    const leave = room.enter(bodySize(request))
    if (leave === undefined)
      return new Response('Too much is being sent at once\n', { status: 503, headers: { 'retry-after': '5' } })
    return served.fetch(request).finally(leave)
  }
  const listener = getRequestListener(answer, { overrideGlobalObjects: false })
  const checks = { connectionsCheckingInterval: Math.min(2_000, headMs, requestMs) }
  const server = createServer(checks, (request, response) => void listener(request, response))
  server.maxConnections = connections
  server.headersTimeout = headMs
  server.requestTimeout = requestMs
  await bind(server, port)
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    async close() {
      await served.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function bind(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const hint = 'Name another with --port, or leave it out: a free one is taken.'
      reject(new BatonError('USAGE', `cannot listen on port ${port}: ${messageOf(error)}`, { hint }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}

/** Bytes that are shared by all who come in, as long as there are some. */
function createRoom(most: number) {
  let taken = 0
  return {
    /** Gives what leaves again; undefined: there is no room. What is alone may be larger. */
    enter(size: number): (() => void) | undefined {
      if (taken > 0 && taken + size > most) return undefined
      taken += size
      return () => void (taken -= size)
    },
  }
}

/** What the head of a request says, and as much as may come where it says nothing. */
function bodySize({ method, headers }: Request): number {
  if (method !== 'POST') return 0
  const length = headers.get('content-length')
  return length !== null && /^\d+$/.test(length) ? Math.min(Number(length), mostBytes) : mostBytes
}

const localNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

function refusal(request: Request, secret: string): Response | undefined {
  if (!localNames.has(hostnameOf(`http://${request.headers.get('host') ?? ''}`))) {
    return new Response('This server answers to its own address only\n', { status: 403 })
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !localNames.has(hostnameOf(origin))) {
    return new Response('Pages of other origins may not call this server\n', { status: 403 })
  }
  const [, given = ''] = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  if (isSame(given, secret)) return undefined
  return new Response('Send the secret of this server as a bearer token\n', {
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  })
}

function hostnameOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : ''
}

/** Takes as long for a secret that is nearly right. */
function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(secret)))
}
