import { bearerToken, isLocal, isSame, listenLocally, type Limits } from '../listen.ts'
import { mostBytes, type WebServed } from './protocol.ts'

export interface ListenOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Whoever wants something has to send it as a bearer token. */
  readonly secret: string
  /** Left out: the usual ones. */
  readonly limits?: Partial<Limits>
}

export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Listens on this machine alone. Pages of other sites do not get through: a request must name this address, and what a
 * browser sends for a page must come from here.
 * @throws BatonError USAGE where the port cannot be used
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
    return new Response('This server answers to its own address only\n', { status: 403 })
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !isLocal(origin)) {
    return new Response('Pages of other origins may not call this server\n', { status: 403 })
  }
  if (!isSame(bearerToken(request), secret)) {
    return new Response('Send the secret of this server as a bearer token\n', {
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  return new URL(request.url).pathname === '/mcp' ? undefined : new Response('Not found\n', { status: 404 })
}
