import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { BatonError, messageOf } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'

/** What one server takes, whoever sends it. */
export interface Limits {
  /** At once: an agent or a page needs a few. Others are cut off. */
  readonly connections: number
  /** Until the head of a request is there. */
  readonly headMs: number
  /** Until the whole request is there: an answer takes as long as a run does, a body does not. */
  readonly requestMs: number
  /** Of all bodies that are being read, by what their heads say. */
  readonly bodyBytes: number
}

const usual: Limits = { connections: 512, headMs: 10_000, requestMs: 60_000, bodyBytes: 128 * 1024 * 1024 }

export interface LocalServerOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Left out: the usual ones. */
  readonly limits?: Partial<Limits> | undefined
  /** Of one body. */
  readonly mostBytes: number
}

export interface LocalServer {
  readonly port: number
  /** Takes no new connections. */
  readonly stopListening: () => void
  /** Cuts those off that are left. */
  readonly close: () => Promise<void>
}

/** A secret for a server that nobody has named one for. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Takes as long for a secret that is nearly right. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(secret)))
}

/** What a request has sent as a bearer token; empty: nothing. */
export function bearerToken(request: Request): string {
  return /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
}

const localNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether an address names this machine as only programs of it can. */
export function isLocal(address: string): boolean {
  return localNames.has(URL.canParse(address) ? new URL(address).hostname : '')
}

/** Who answers requests: what it refuses by their heads it has no body of to read. */
export interface Answering {
  readonly refuse: (request: Request) => Response | undefined
  readonly answer: (request: Request) => Promise<Response>
}

/**
 * Listens on this machine alone, with limits for connections, heads and bodies. `answering` is made when the port is known.
 * @throws BatonError USAGE where the port cannot be used
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
      return new Response('Too much is being sent at once\n', { status: 503, headers: { 'retry-after': '5' } })
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
function bodySize({ method, headers }: Request, most: number): number {
  if (method !== 'POST') return 0
  const length = headers.get('content-length')
  return length !== null && /^\d+$/.test(length) ? Math.min(Number(length), most) : most
}
