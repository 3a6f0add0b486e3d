import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { BatonError, messageOf } from '../../base/error.ts'
import { sha256 } from '../../base/hash.ts'
import type { WebServed } from './protocol.ts'

export interface ListenOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Whoever wants something has to send it as a bearer token. */
  readonly secret: string
}

export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Connections at once: an agent needs a few. */
const mostConnections = 512

/** A secret for a server that nobody has named one for. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Listens on this machine alone. Pages of other sites do not get through: a request must name this address, and what a
 * browser sends for a page must come from here.
 * @throws BatonError USAGE where the port cannot be used
 */
export async function listen(served: WebServed, { port, secret }: ListenOptions): Promise<Listening> {
  const answer = async (request: Request): Promise<Response> => {
    const refused = refusal(request, secret)
    if (refused !== undefined) return refused
    if (new URL(request.url).pathname !== '/mcp') return new Response('Not found\n', { status: 404 })
    return served.fetch(request)
  }
  const listener = getRequestListener(answer, { overrideGlobalObjects: false })
  const server = createServer((request, response) => void listener(request, response))
  server.maxConnections = mostConnections
  server.headersTimeout = 10_000
  // an answer takes as long as a run does; a body does not
  server.requestTimeout = 60_000
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
