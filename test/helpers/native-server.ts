import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../src/base/json.ts'

/** One answer, byte for byte. */
export interface NativeReply {
  readonly status?: number
  /** Default: `text/event-stream`. */
  readonly contentType?: string
  readonly headers?: { readonly [name: string]: string }
  /** The body, one write each. */
  readonly writes?: readonly (string | Uint8Array)[]
  /** What happens after the last write: the body ends, the connection is destroyed, or nothing more happens. */
  readonly ending?: 'end' | 'cut' | 'stall'
}

interface NativeRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
}

export interface NativeServer {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly origin: string
  readonly requests: readonly NativeRequest[]
  close(): Promise<void>
}

/** A server on 127.0.0.1 that sends the same answer to every request, whatever its path. */
export async function startNativeServer(reply: NativeReply): Promise<NativeServer> {
  const requests: NativeRequest[] = []
  const server = createServer((incoming, response) => {
    readRequest(incoming)
      .then((request) => {
        requests.push(request)
        return play(reply, response)
      })
      .catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readRequest(incoming: IncomingMessage): Promise<NativeRequest> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const { method = '', url = '', headers } = incoming
  return { method, path: url, headers, body: JSON.parse(Buffer.concat(pieces).toString('utf8')) as JsonObject }
}

async function play(
  { status = 200, contentType = 'text/event-stream', headers, writes = [], ending = 'end' }: NativeReply,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(status, { 'content-type': contentType, ...headers })
  response.flushHeaders()
  for (const bytes of writes) {
    await new Promise<void>((resolve) => response.write(bytes, () => resolve()))
    // one more turn of the event loop, so that writes reach the client one by one
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (ending === 'end') response.end()
  else if (ending === 'cut') response.socket?.destroy()
}
