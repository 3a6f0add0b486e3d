import { bearerToken, isLocal, isSame } from '../listen.ts'
import { Refusal, refusalAnswer } from './refusal.ts'

/** Of one body: a prompt and what is given to it. */
export const mostBodyBytes = 4 * 1024 * 1024

export interface GateOptions {
  readonly port: number
  readonly secret: string
}

/** What every answer says to a browser: nothing from elsewhere, and nobody around it. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Lets nobody in but who knows the secret, by cookie or as a bearer token; and no page of another origin, whatever name it
 * has given this address. Gives the answer to who is not let in, and the cookie to who brings the secret to `/?secret=`.
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

const noSecret = new Refusal(401, 'the secret of this server is missing or wrong', {
  hint: 'Open the address that baton serve has printed, or send the secret as "Authorization: Bearer SECRET".',
})

function checkOrigin({ headers }: Request, { port }: GateOptions): void {
  const host = headers.get('host') ?? ''
  const own = `http://${host}`
  if (!isLocal(own) || !host.endsWith(`:${port}`)) {
    throw new Refusal(403, 'this server answers to its own address only')
  }
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  const isForeign = origin === null ? site !== null && site !== 'same-origin' && site !== 'none' : origin !== own
  const isNavigation = headers.get('sec-fetch-mode') === 'navigate'
  if (isForeign && !(origin === null && isNavigation)) {
    throw new Refusal(403, 'pages of other origins may not call this server')
  }
}

/** `/?secret=S` is what a person opens: it is in the cookie from then on, and in no address. */
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
    throw new Refusal(415, 'the body has to be JSON', { hint: 'Send it with content-type: application/json.' })
  }
  if (Number(headers.get('content-length') ?? 0) > mostBodyBytes) throw tooLarge()
}

function tooLarge(): Refusal {
  return new Refusal(413, `the body has more than ${mostBodyBytes} bytes`)
}

/**
 * The body of a request as JSON; nothing is `{}`. No more of it is read than may come.
 * @throws Refusal 413, and 400 for what is no JSON
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
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Refusal(400, 'the body is not valid JSON')
  }
}
