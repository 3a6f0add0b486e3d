import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { sha256 } from '../base/hash.ts'
import { Refusal } from './refusal.ts'

/** Sent with every response: the browser loads nothing from other origins, and no other page may embed this one. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

export interface Gate {
  readonly port: number
  /** Maximum size of a body. */
  readonly mostBytes: number
  /** Whether a bearer token is a secret of this server. */
  readonly isKnown: (bearer: string) => boolean
  /** Requests that need no secret, by method and path. They get no data of the workspace, and no body of them is read. */
  readonly isPublic: (method: string, path: string) => boolean
  /** Webhooks, which have a signature instead of the secret. */
  readonly hooks?: HookGate | undefined
}

interface HookGate {
  /** The only other name that a request may have been sent to, for webhooks alone. */
  readonly publicHost: string | undefined
  readonly mostBytes: number
  /** The hook that a path names. */
  readonly nameIn: (path: string) => string | undefined
  /** @throws Refusal for what needs no look at the body */
  readonly admit: (name: string, head: Pick<IncomingMessage, 'headersDistinct'>) => void
}

/** Who sends a request: a client with the secret, any client, for what is public, or one that has signed a webhook. */
export type ClientKind = 'known' | 'public' | 'hook'

type Head = Pick<IncomingMessage, 'method' | 'url' | 'headersDistinct'>

/**
 * Decides by the head of a request, before any body is read. Refuses requests without the secret, and those from pages
 * of other origins, including pages that resolve another name to this address.
 * @throws Refusal
 */
export function authorize(head: Head, gate: Gate): ClientKind {
  const { method = '', url = '' } = head
  if (!url.startsWith('/')) throw new Refusal(400, 'the path of a request starts with /')
  // the path as it was sent: what has to be resolved or decoded names no hook
  const hook = gate.hooks?.nameIn(url)
  if (gate.hooks !== undefined && hook !== undefined && isForHooks(head, gate.hooks)) {
    return authorizeHook(head, { ...gate.hooks, hook })
  }
  checkOrigin(head, gate)
  if (gate.hooks !== undefined && hook !== undefined && method === 'POST') {
    return authorizeHook(head, { ...gate.hooks, hook })
  }
  const isKnown = gate.isKnown(bearerOf(head))
  if (!isKnown && !gate.isPublic(method, pathOf(url))) throw noSecret
  if (isKnown && method === 'POST') checkBody(head, gate)
  return isKnown ? 'known' : 'public'
}

/** Whether the request was sent to the public name, which is that of the user's proxy. */
function isForHooks(head: Head, { publicHost }: HookGate): boolean {
  const host = (only(head, 'host') ?? '').toLowerCase()
  if (publicHost === undefined) return false
  const name = publicHost.toLowerCase()
  return host === name || (!name.includes(':') && (host === `${name}:443` || host === `${name}:80`))
}

/** @throws Refusal */
function authorizeHook(head: Head, { hook, admit, mostBytes }: HookGate & { readonly hook: string }): 'hook' {
  if (head.method !== 'POST') throw new Refusal(405, 'a hook is called with POST')
  if (only(head, 'origin') !== undefined || only(head, 'sec-fetch-site') !== undefined)
    throw new Refusal(403, 'hooks are not for pages')
  admit(hook, head)
  checkBody(head, { mostBytes })
  return 'hook'
}

/** The path as routes see it, without segments such as `..`. */
function pathOf(url: string): string {
  return URL.canParse(`http://127.0.0.1${url}`) ? new URL(`http://127.0.0.1${url}`).pathname : ''
}

/** Compares in constant time. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(secret)))
}

const noSecret = new Refusal(401, 'missing or invalid secret', {
  hint: 'Send the header "Authorization: Bearer SECRET". For a page, press Enter in the terminal of baton serve, and open the address that it prints.',
})

function bearerOf(head: Head): string {
  return /^Bearer (.+)$/i.exec(only(head, 'authorization') ?? '')?.[1] ?? ''
}

/** @throws Refusal 400 for a header that was sent more than once */
function only({ headersDistinct }: Head, name: string): string | undefined {
  const values = headersDistinct[name] ?? []
  if (values.length > 1) throw new Refusal(400, `the header ${name} was sent more than once`)
  return values[0]
}

const localNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

function isLocal(address: string): boolean {
  return localNames.has(URL.canParse(address) ? new URL(address).hostname : '')
}

function checkOrigin(head: Head, { port }: Gate): void {
  const host = only(head, 'host') ?? ''
  const own = `http://${host}`
  if (!isLocal(own) || !host.endsWith(`:${port}`)) {
    throw new Refusal(403, 'this server only accepts requests to its own address')
  }
  const origin = only(head, 'origin')
  const site = only(head, 'sec-fetch-site')
  const isForeign =
    origin === undefined ? site !== undefined && site !== 'same-origin' && site !== 'none' : origin !== own
  const isNavigation = only(head, 'sec-fetch-mode') === 'navigate'
  if (isForeign && !(origin === undefined && isNavigation)) {
    throw new Refusal(403, 'requests from other origins are not allowed')
  }
}

function checkBody(head: Head, { mostBytes }: Pick<Gate, 'mostBytes'>): void {
  const type = (only(head, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new Refusal(415, 'the body must be JSON', { hint: 'Send it with content-type: application/json.' })
  }
  if (Number(only(head, 'content-length') ?? 0) > mostBytes) throw tooLarge(mostBytes)
}

export function tooLarge(mostBytes: number): Refusal {
  return new Refusal(413, `the body is larger than ${mostBytes} bytes`)
}
