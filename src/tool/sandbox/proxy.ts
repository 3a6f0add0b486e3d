import { lookup } from 'node:dns/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { isPrivateAddress } from '../../base/address.ts'
import { coversHost } from '../../base/host-entry.ts'

export interface Proxy {
  /** Ends all connections. */
  readonly close: () => Promise<void>
}

/** Why a host is not reached: what the program in the box is answered. */
type Refusal = { readonly status: 403 | 400 | 431 | 502; readonly text: string }

interface Target {
  /** As it was asked for, without brackets. */
  readonly host: string
  readonly port: number
}

/** Each takes two descriptors of this process; a program in the box may open as many as it likes. */
const mostConnections = 256

/**
 * An HTTP proxy that reaches the hosts of a list and no others, listening on a socket or port. The address of a name is
 * looked up once, checked, and connected to. This machine and private networks are reached only by names that are in the
 * list as they are.
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
  // no limit for a whole request: a large file may go slowly
  const server = createServer({ requestTimeout: 0 }, (asked, answer) => {
    // what goes wrong for a program in the box never goes wrong for the run
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
    else socket.end(plainAnswer({ status: 400, text: 'this is no HTTP request' }))
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
  // each side may say that it has nothing more to send, and still be answered
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
    // otherwise it ends itself, when it has been given all that came
    else if (isBroken) client.destroy()
  })
  client.once('close', () => server.destroy())
}

/** A request with the whole address in its first line. */
async function forward(asked: IncomingMessage, answer: ServerResponse, network: readonly string[]): Promise<void> {
  const refuse = ({ status, text }: Refusal): void => {
    answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${text}\n`)
    asked.resume()
  }
  const url = urlOf(asked.url)
  if (url === undefined) return refuse({ status: 400, text: 'this is a proxy: it needs a whole http: address' })
  const target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
  const found = await addressOf(target, network)
  if (typeof found !== 'string') return refuse(found)
  const unreached = { status: 502, text: `${url.host} cannot be reached` } as const
  const encoding = asked.headers['transfer-encoding']
  // without it the server would take the body of a GET for the next request
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
    // not an answer, or not the last one
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

/** Headers for the next server only. */
function withoutHops(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.has(name) && !named.includes(name)))
}

const hops: ReadonlySet<string> = new Set(
  'connection proxy-connection keep-alive proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

/** The address to connect to; names are looked up here and nowhere else. */
async function addressOf({ host, port }: Target, network: readonly string[]): Promise<string | Refusal> {
  if (host === '' || !(port >= 1 && port <= 65_535)) return { status: 400, text: 'this is no host and port' }
  const name = host.toLowerCase().replace(/\.$/, '')
  const asked = `${bracketed(name)}:${port}`
  const entries = network.filter((entry) => coversHost(entry, asked))
  if (entries.length === 0) return refused(asked, 'the network of this sandbox does not include it')
  const isNamed = entries.some((entry) => !entry.startsWith('*'))
  try {
    const addresses = isIP(name) === 0 ? await lookup(name, { all: true }) : [{ address: name }]
    // what is only reachable by IPv6 has no other
    const first = addresses.find(({ address }) => isIP(address) === 4) ?? addresses[0]
    if (first === undefined) return { status: 502, text: `${name} has no address` }
    if (!isNamed && addresses.some(({ address }) => isPrivateAddress(address))) {
      return refused(asked, 'it is in a private network, so it must be named as it is, without *')
    }
    return first.address
  } catch {
    return { status: 502, text: `${name} cannot be found` }
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
