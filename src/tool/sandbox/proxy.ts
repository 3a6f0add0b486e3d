import { lookup } from 'node:dns/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { isPrivateAddress } from '../../base/address.ts'
import { coversHost } from '../../base/host-entry.ts'

export interface Proxy {
  readonly close: () => Promise<void>
}

/** Why a host is not reached: the answer to the program in the sandbox. */
type Refusal = { readonly status: 403 | 400 | 431 | 502; readonly text: string }

interface Target {
  /** As requested, without brackets. */
  readonly host: string
  readonly port: number
}

/** Each takes two descriptors of this process; a program in the sandbox may open any number. */
const mostConnections = 256

/**
 * An HTTP proxy that reaches only the hosts of a list, listening on a socket or port. A name is resolved once, and the
 * checked address is the one connected to. This machine and private networks are reached only through names that the
 * list has in full, without `*`.
 */
export async function startProxy(
  network: readonly string[],
  listen: string | { readonly port: 0 },
): Promise<Proxy & { readonly port: number }> {
  const open = new Set<Duplex>()
  const keep = <T extends Duplex>(socket: T): T => {
    open.add(socket)
    return socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy())
  }
  // no limit for a whole request: a large download may be slow
  const server = createServer({ requestTimeout: 0 }, (asked, answer) => {
    // a failure of a program in the sandbox must not fail the run
    forward(asked, answer, network).catch(() => answer.destroy())
  })
  server.maxConnections = mostConnections
  server.on('connection', keep)
  server.on('connect', (asked, client, head) => {
    tunnel(asked, { client: keep(client), head }, network, keep).catch(() => client.destroy())
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isLarge = error.code === 'HPE_HEADER_OVERFLOW'
    if (!socket.writable) socket.destroy()
    else if (isLarge) socket.end(plainAnswer({ status: 431, text: 'the headers are too large' }))
    else socket.end(plainAnswer({ status: 400, text: 'this is not an HTTP request' }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const done = (): void => resolve()
    if (typeof listen === 'string') server.listen(listen, done)
    else server.listen(listen.port, '127.0.0.1', done)
  })
  server.unref()
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** `CONNECT host:port`. */
async function tunnel(
  asked: IncomingMessage,
  { client, head }: { readonly client: Duplex; readonly head: Buffer },
  network: readonly string[],
  keep: <T extends Duplex>(socket: T) => T,
): Promise<void> {
  const [, name = '', port = ''] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(asked.url ?? '') ?? []
  const found = await addressOf({ host: name, port: Number(port) }, network)
  if (typeof found !== 'string') return void client.end(plainAnswer(found))
  if (client.destroyed) return
  // half-open: either side may close its sending direction and still get the rest of the answer
  const server = keep(connect({ host: found, port: Number(port), allowHalfOpen: true }))
  let isConnected = false
  server.once('connect', () => {
    isConnected = true
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) server.write(head)
    server.pipe(client).pipe(server)
  })
  server.once('close', (isBroken: boolean) => {
    if (!isConnected) client.end(plainAnswer({ status: 502, text: `${name}:${port} cannot be reached` }))
    // otherwise the pipe ends it once all data has been passed on
    else if (isBroken) client.destroy()
  })
  client.once('close', () => server.destroy())
}

/** A request with an absolute URL in its first line. */
async function forward(asked: IncomingMessage, answer: ServerResponse, network: readonly string[]): Promise<void> {
  const refuse = ({ status, text }: Refusal): void => {
    answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${text}\n`)
    asked.resume()
  }
  const url = urlOf(asked.url)
  if (url === undefined) return refuse({ status: 400, text: 'this is a proxy: it needs an absolute http: URL' })
  const target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
  const found = await addressOf(target, network)
  if (typeof found !== 'string') return refuse(found)
  const unreached = { status: 502, text: `${url.host} cannot be reached` } as const
  const encoding = asked.headers['transfer-encoding']
  // without it the server would read the body of a GET as the next request
  const framing = encoding === undefined ? {} : { 'transfer-encoding': encoding }
  const headers = { ...withoutHops(asked.headers), ...framing, host: url.host }
  const options = {
    host: found,
    port: target.port,
    method: asked.method,
    path: `${url.pathname}${url.search}`,
    headers,
  }
  const sent = request({ ...options, agent: false }, (given) => {
    const { statusCode = 0 } = given
    // not an answer, or only an interim one
    if (statusCode < 200) return void sent.destroy()
    answer.writeHead(statusCode, withoutHops(given.headers))
    given.pipe(answer).on('error', () => given.destroy())
    given.on('error', () => answer.destroy())
  })
  sent.on('error', () => answer.headersSent && answer.destroy())
  sent.once('close', () => answer.headersSent || refuse(unreached))
  answer.once('close', () => sent.destroy())
  asked.pipe(sent)
}

function urlOf(text: string | undefined): URL | undefined {
  const url = URL.canParse(text ?? '') ? new URL(text ?? '') : undefined
  return url?.protocol === 'http:' ? url : undefined
}

/** The headers without those that apply to a single hop. */
function withoutHops(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.has(name) && !named.includes(name)))
}

const hops: ReadonlySet<string> = new Set(
  'connection proxy-connection keep-alive proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

/** The address to connect to; names are resolved here and nowhere else. */
async function addressOf({ host, port }: Target, network: readonly string[]): Promise<string | Refusal> {
  if (host === '' || !(port >= 1 && port <= 65_535)) return { status: 400, text: 'this is not a host and port' }
  const name = host.toLowerCase().replace(/\.$/, '')
  const asked = `${bracketed(name)}:${port}`
  const entries = network.filter((entry) => coversHost(entry, asked))
  if (entries.length === 0) return refused(asked, 'the network of this sandbox does not include it')
  const isNamed = entries.some((entry) => !entry.startsWith('*'))
  try {
    const addresses = isIP(name) === 0 ? await lookup(name, { all: true }) : [{ address: name }]
    // IPv6 only if the name has no IPv4 address
    const first = addresses.find(({ address }) => isIP(address) === 4) ?? addresses[0]
    if (first === undefined) return { status: 502, text: `${name} has no address` }
    if (!isNamed && addresses.some(({ address }) => isPrivateAddress(address))) {
      return refused(asked, 'it is in a private network, so it must be listed by its exact name, without *')
    }
    return first.address
  } catch {
    return { status: 502, text: `${name} cannot be resolved` }
  }
}

function bracketed(name: string): string {
  return name.includes(':') ? `[${name}]` : name
}

function refused(asked: string, why: string): Refusal {
  return { status: 403, text: `${asked} is refused: ${why}. The user can add it to [sandbox] network.` }
}

function plainAnswer({ status, text }: Refusal): string {
  const reason = { 400: 'Bad Request', 403: 'Forbidden', 431: 'Headers Too Large', 502: 'Bad Gateway' }[status]
  const length = Buffer.byteLength(text) + 1
  const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${length}`
  return `${head}\r\nconnection: close\r\n\r\n${text}\n`
}
