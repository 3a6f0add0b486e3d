import { isSame } from '../gate.ts'
import { listenLocally, type Limits } from '../listen.ts'
import { Refusal, refusalAnswer } from '../refusal.ts'
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
 * Listens on the loopback interface only, with the same gate and limits as `baton serve`.
 * @throws BatonError USAGE if the port cannot be used
 */
export async function listen(served: WebServed, { port, secret, limits }: ListenOptions): Promise<Listening> {
  const server = await listenLocally({
    port,
    limits,
    mostBytes,
    isKnown: (bearer) => isSame(bearer, secret),
    isPublic: () => false,
    answer: async (request) =>
      new URL(request.url).pathname === '/mcp' ? served.fetch(request) : refusalAnswer(new Refusal(404, 'not found')),
  })
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async close() {
      await served.close()
      await server.close()
    },
  }
}
