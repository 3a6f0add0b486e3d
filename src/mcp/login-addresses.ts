import { exactHost } from '../base/host-entry.ts'
import { isObject } from '../base/json.ts'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Thrown for an address that a server names for its login and that is not used. */
export class ForeignAddress extends Error {
  override readonly name = 'ForeignAddress'
  readonly address: string

  constructor(address: string) {
    super(`the address ${address} is refused`)
    this.address = address
  }
}

/** Host names of the loopback interface. */
const local: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether a user may be sent to an address that a server names: https, or this machine. */
export function isPageAddress(address: string | URL): boolean {
  if (!URL.canParse(address.toString())) return false
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && local.has(hostname))
}

interface LoginHosts {
  readonly known: () => Promise<string | undefined>
  readonly hosts?: readonly string[] | undefined
}

/**
 * A `fetch` for a server that may require a login. It sends requests only to the server's origin, and to that of the
 * authorization servers that it names in its own metadata, or named before (`known`): over https, or on this machine if
 * the server is there too. `hosts`: those that the user allows as well, over https or on this machine. Everything else
 * that is named on the way, such as the address of tokens on a third host, is refused with ForeignAddress, and so are all
 * requests after it. `refused`: that error. The SDK follows no redirect to another origin.
 */
export function createLoginFetch(
  fetch: Fetch,
  server: URL,
  { known, hosts = [] }: LoginHosts,
): { readonly fetch: Fetch; readonly refused: () => ForeignAddress | undefined } {
  const named = new Set<string>()
  const allowed = new Set(hosts.map(exactHost))
  let refusal: ForeignAddress | undefined

  function refuse(url: URL): never {
    refusal ??= new ForeignAddress(url.href)
    throw refusal
  }

  function isReachable(url: URL): boolean {
    if (url.origin === server.origin) return true
    return isPageAddress(url) && (url.protocol === 'https:' || local.has(server.hostname))
  }

  function isAllowed(url: URL): boolean {
    return allowed.has(url.host) && isPageAddress(url)
  }

  async function check(url: URL): Promise<void> {
    if (url.origin === server.origin || isAllowed(url)) return
    if (!isReachable(url) || !(named.has(url.origin) || originOf(await known()) === url.origin)) refuse(url)
  }

  /** What metadata names, checked before a user is sent anywhere. */
  async function read(response: Response, url: URL): Promise<void> {
    const { authorization_servers: servers, token_endpoint: tokens } = await metadataIn(response)
    const [issuer] = Array.isArray(servers) ? (servers as readonly unknown[]) : []
    if (url.origin === server.origin && typeof issuer === 'string' && URL.canParse(issuer)) {
      const address = new URL(issuer)
      if (!isReachable(address) && !isAllowed(address)) refuse(address)
      named.add(address.origin)
    }
    if (typeof tokens === 'string' && URL.canParse(tokens)) await check(new URL(tokens))
  }

  return {
    refused: () => refusal,
    async fetch(address, init) {
      if (refusal !== undefined) throw refusal
      const url = new URL(address)
      await check(url)
      const response = await fetch(url, init)
      if (url.href !== server.href && response.ok && (init?.method ?? 'GET') === 'GET') await read(response, url)
      return response
    },
  }
}

/** The metadata of a server, or of an authorization server; empty if it is something else. */
async function metadataIn(response: Response): Promise<{ readonly [name: string]: unknown }> {
  if (response.headers.get('content-type')?.includes('json') !== true) return {}
  const value: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return isObject(value) ? value : {}
}

function originOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).origin : undefined
}
