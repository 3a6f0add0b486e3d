import { isDeeper, maxJsonDepth } from '../../base/json.ts'
import { bearerToken, isLocal, isSame } from '../listen.ts'
import { Refusal, refusalAnswer } from './refusal.ts'

/** Maximum size of a request body: a prompt and its inputs. */
export const mostBodyBytes = 4 * 1024 * 1024

export interface GateOptions {
  readonly port: number
  readonly secret: string
}

/** Sent with every response: the browser loads nothing from other origins, and no other page may embed this one. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Rejects requests without the secret (as a cookie or bearer token) and requests from pages of other origins, including
 * those that resolve another name to this address. Returns the response for a rejected request, and the redirect that
 * sets the cookie for `/?secret=`; undefined if the request may proceed.
 */
export function refuseAtGate(request: Request, options: GateOptions): Response | undefined {
  try {
    checkOrigin(request, options)
    const entered = enter(request, options)
    if (entered !== undefined) return entered
    if (!isLetIn(request, options)) throw noSecret
    if (request.method === 'POST') checkBody(request)
    return undefined
  } catch (error) {
    return withSecurity(refusalAnswer(error))
  }
}

export function withSecurity(response: Response): Response {
  for (const [name, value] of Object.entries(securityHeaders)) response.headers.set(name, value)
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
  return response
}

const noSecret = new Refusal(401, 'missing or invalid secret', {
  hint: 'Open the address that baton serve printed, or send the header "Authorization: Bearer SECRET".',
})

function checkOrigin({ headers }: Request, { port }: GateOptions): void {
  const host = headers.get('host') ?? ''
  const own = `http://${host}`
  if (!isLocal(own) || !host.endsWith(`:${port}`)) {
    throw new Refusal(403, 'this server only accepts requests to its own address')
  }
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  const isForeign = origin === null ? site !== null && site !== 'same-origin' && site !== 'none' : origin !== own
  const isNavigation = headers.get('sec-fetch-mode') === 'navigate'
  if (isForeign && !(origin === null && isNavigation)) {
    throw new Refusal(403, 'requests from other origins are not allowed')
  }
}

/** Handles `/?secret=S`, the address the user opens: moves the secret to a cookie, out of the address. */
function enter(request: Request, { port, secret }: GateOptions): Response | undefined {
  const { pathname, searchParams } = new URL(request.url)
  const given = searchParams.get('secret')
  if (request.method !== 'GET' || pathname !== '/' || given === null) return undefined
  if (!isSame(given, secret)) throw noSecret
  const cookie = `${cookieName(port)}=${encodeURIComponent(secret)}; HttpOnly; SameSite=Strict; Path=/`
  return withSecurity(new Response(null, { status: 303, headers: { location: '/', 'set-cookie': cookie } }))
}

function isLetIn(request: Request, { port, secret }: GateOptions): boolean {
  return isSame(bearerToken(request), secret) || isSame(cookieIn(request, port), encodeURIComponent(secret))
}

function cookieName(port: number): string {
  return `baton_secret_${port}`
}

function cookieIn({ headers }: Request, port: number): string {
  const start = `${cookieName(port)}=`
  const all = (headers.get('cookie') ?? '').split(';').map((one) => one.trim())
  return all.find((one) => one.startsWith(start))?.slice(start.length) ?? ''
}

function checkBody({ headers }: Request): void {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new Refusal(415, 'the body must be JSON', { hint: 'Send it with content-type: application/json.' })
  }
  if (Number(headers.get('content-length') ?? 0) > mostBodyBytes) throw tooLarge()
}

function tooLarge(): Refusal {
  return new Refusal(413, `the body is larger than ${mostBodyBytes} bytes`)
}

/**
 * Parses the body of a request as JSON; an empty one is `{}`. Reading stops at the size limit.
 * @throws Refusal 413 above the limit, 400 if it is not JSON
 */
export async function readJson({ body }: Request): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done) break
    size += value?.byteLength ?? 0
    if (size > mostBodyBytes) {
      void reader?.cancel().catch(() => undefined)
      throw tooLarge()
    }
    if (value !== undefined) chunks.push(value)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not valid JSON')
  }
  if (isDeeper(value, maxJsonDepth)) throw new Refusal(400, `the body is nested deeper than ${maxJsonDepth} levels`)
  return value
}
