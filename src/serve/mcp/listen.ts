import { bearerToken, isLocal, isSame, listenLocally, type Limits } from '../listen.ts'
import { mostBytes, type WebServed } from './protocol.ts'

export interface ListenOptions {
  /** 0: any free port. */
  readonly port: number
  /** Every request must send it as a bearer token. */
  readonly secret: string
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits>
}

export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Listens on the loopback interface only. Requests from pages of other sites are rejected: `Host` must be a loopback
 * address, and so must `Origin` if it is set.
 * @throws BatonError USAGE if the port cannot be used
 */
export async function listen(served: WebServed, { port, secret, limits }: ListenOptions): Promise<Listening> {
  const server = await listenLocally({ port, limits, mostBytes }, () => ({
    refuse: (request) => refusal(request, secret),
    answer: served.fetch,
  }))
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async close() {
      await served.close()
      await server.close()
    },
  }
}

function refusal(request: Request, secret: string): Response | undefined {
  if (!isLocal(`http://${request.headers.get('host') ?? ''}`)) {
    return new Response('This server only accepts requests to its own address\n', { status: 403 })
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !isLocal(origin)) {
    return new Response('Requests from other origins are not allowed\n', { status: 403 })
  }
  if (!isSame(bearerToken(request), secret)) {
    return new Response('Send the secret of this server as a bearer token\n', {
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  return new URL(request.url).pathname === '/mcp' ? undefined : new Response('Not found\n', { status: 404 })
}
