import { EventEmitter } from 'node:events'
import type { Agent, ClientRequest } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import { BatonError } from './error.ts'

/** The environment: values may be secret. */
type Environment = Readonly<Record<string, string | undefined>>

/** A proxy for requests, and the variable that names it. */
export interface Proxy {
  readonly url: URL
  readonly variable: string
}

/**
 * The proxy of requests to an address: `HTTP_PROXY` for `http:`, `HTTPS_PROXY` for `https:`, else `ALL_PROXY`; lower
 * case comes first. Undefined for addresses of this machine and for those that `NO_PROXY` names, as a host, a domain
 * with its subdomains, an IP address or range, each with an optional port, or `*`.
 * @throws BatonError CONFIG_INVALID if the variable is not the address of an HTTP proxy
 */
export function proxyOf(url: URL, env: Environment): Proxy | undefined {
  const kind = url.protocol === 'http:' ? 'http' : 'https'
  const names = [`${kind}_proxy`, `${kind}_proxy`.toUpperCase(), 'all_proxy', 'ALL_PROXY']
  const variable = names.find((name) => (env[name] ?? '') !== '')
  if (variable === undefined) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = url.port === '' ? { http: '80', https: '443' }[kind] : url.port
  if (isHere(host) || isExcepted(host, port, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined
  return { url: proxyUrl(env[variable] ?? '', variable), variable }
}

/** A proxy for messages: without user name and password. */
export function shownProxy({ url, variable }: Proxy): string {
  return `${url.host} (${variable})`
}

function proxyUrl(text: string, variable: string): URL {
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '') return url
  throw new BatonError('CONFIG_INVALID', `${variable} is not the address of an HTTP proxy`, {
    hint: `Set it to http://HOST:PORT, or name the hosts that need no proxy in NO_PROXY. Other kinds, such as socks5://, are not supported.`,
  })
}

function isHere(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host.startsWith('127.') || host === '::1'
}

function isExcepted(host: string, port: string, list: string): boolean {
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => isNamed(host, port, entry.toLowerCase()))
}

function isNamed(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true
  const [, bracketed, plain = entry, entryPort] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? []
  if (entryPort !== undefined && entryPort !== port) return false
  const name = bracketed ?? plain
  if (isIP(host) !== 0) return isInRange(host, name)
  const domain = name.replace(/^\*?\./, '')
  return host === domain || host.endsWith(`.${domain}`)
}

/** `10.0.0.7`, or a range `10.0.0.0/8`. */
function isInRange(address: string, range: string): boolean {
  const [first = '', bits] = range.split('/')
  const version = isIP(first)
  if (version === 0 || version !== isIP(address)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const most = version === 4 ? 32 : 128
  const size = bits === undefined ? most : Number(bits)
  if (!Number.isInteger(size) || size < 0 || size > most) return false
  const list = new BlockList()
  list.addSubnet(first, size, family)
  return list.check(address, family)
}

/** Agents of Node's HTTP client by proxy and kind of target; like its connections they outlive runs. */
const agents = new Map<string, Agent>()

/** The agent that sends requests to `http:` or `https:` addresses through a proxy, on connections that are kept. */
export async function proxyAgent({ url }: Proxy, target: 'http:' | 'https:'): Promise<Agent> {
  const key = `${target} ${url.href}`
  const known = agents.get(key)
  if (known !== undefined) return known
  const options = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 } as const
  const agent =
    target === 'https:'
      ? new (await import('https-proxy-agent')).HttpsProxyAgent(url, options)
      : new (await import('http-proxy-agent')).HttpProxyAgent(url, options)
  agents.set(key, agent)
  return agent
}

/**
 * Lets a request fail if the proxy cannot be reached, or refuses the connection: otherwise its answer would pass for
 * that of the server, although it did not come over TLS.
 */
export function refuseProxyAnswer(request: EventEmitter, proxy: Proxy, onRefused: (error: ProxyError) => void): void {
  // without an answer to CONNECT the proxy forwards the request, and its answer is that of the server
  request.once('proxyConnect', ({ statusCode }: { readonly statusCode?: number }) => {
    if (statusCode !== undefined && statusCode !== 200)
      onRefused(new ProxyError(`refused the connection (status ${statusCode})`, proxy))
  })
}

/** An error of a request through a proxy. Only the proxy is resolved and connected to, so such errors are about it. */
export function proxyFailure(error: Error, proxy: Proxy): Error {
  const code = 'code' in error ? String(error.code) : ''
  const isItsOwn = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code)
  return isItsOwn ? new ProxyError(`cannot be reached (${code})`, proxy, error) : error
}

/** A proxy that does not connect to the server. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly hint: string
  constructor(what: string, proxy: Proxy, cause?: Error) {
    super(`the proxy ${shownProxy(proxy)} ${what}`, { cause })
    this.hint = `Check ${proxy.variable}. Hosts that are reached without a proxy belong in NO_PROXY.`
  }
}

interface Target {
  readonly hostname: string
  readonly port: string
  readonly protocol: string
  readonly servername?: string | null
}

type Connected = (...result: readonly [error: Error, socket: null] | readonly [error: null, socket: Socket]) => void

/** Connects a dispatcher of `fetch` through a proxy: a tunnel for all targets. */
export function proxyConnector(proxy: Proxy): (target: Target, connected: Connected) => void {
  async function connect({ hostname, port, protocol, servername }: Target): Promise<Socket> {
    const { HttpsProxyAgent } = await import('https-proxy-agent')
    const agent = new HttpsProxyAgent(proxy.url)
    const request = new EventEmitter()
    let refusal: ProxyError | undefined
    refuseProxyAnswer(request, proxy, (error) => (refusal = error))
    const secureEndpoint = protocol === 'https:'
    const standard = secureEndpoint ? 443 : 80
    const host = hostname.replace(/^\[|\]$/g, '')
    const made = agent.connect(
      request as ClientRequest,
      {
        host,
        port: port === '' ? standard : Number(port),
        secureEndpoint,
        ...(secureEndpoint ? { servername: servername ?? host, ALPNProtocols: ['http/1.1'] } : {}),
      } as Parameters<typeof agent.connect>[1],
    )
    const socket = await made.catch((error: Error) => Promise.reject(proxyFailure(error, proxy)))
    if (refusal !== undefined) {
      socket.destroy()
      throw refusal
    }
    // the agent has paused it until then
    request.emit('socket', socket)
    if (secureEndpoint) await secured(socket)
    return socket
  }
  return (target, connected) => {
    connect(target).then(
      (socket) => connected(null, socket),
      (error: unknown) => connected(error instanceof Error ? error : new Error(String(error)), null),
    )
  }
}

function secured(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
}
