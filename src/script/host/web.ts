import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import type { HttpRequest, HttpResponse } from '../../base/http.ts'
import { parseStrictJson } from '../../base/json-text.ts'
import { shownUrl } from '../../base/shown-url.ts'
import type { Action } from '../../event/permission.ts'
import type { LuaValue } from '../engine.ts'
import { isTable, luaTypeName, text } from './arguments.ts'
import { type ActCall, type HostCall, Options } from './call.ts'
import { jsonText } from './json-text.ts'
import { withoutTopNull } from './json.ts'
import { type HostModule, pure, waiting } from './module.ts'

const userAgents = {
  aipack: 'aipack',
  browser:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const

const maxBytes = 32 * 1024 * 1024

/** `aip.web`. Any status is an answer; only when there is none it is an error. */
export const webModule: HostModule = {
  name: 'aip.web',
  functions: {
    /**
     * `aip.web.get(url, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Fetches a page. Any status is an answer, and `success` says whether it was 2xx; no answer is an error. The
     * options are `user_agent`, `headers`, `redirect_limit` (5), `timeout_ms` (2 minutes) and `parse`, with which an
     * answer of type JSON becomes a table.
     */
    get: waiting(async (call) => {
      const { parse, ...options } = webOptions(call, 1)
      const response = await send({ ...options, url: urlOf(call), method: 'GET' }, call)
      return responseTable(response, { parse }, call)
    }),
    /**
     * `aip.web.post(url, data, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Sends a text, or a table as JSON. Options and result are those of `aip.web.get`.
     */
    post: waiting(async (call) => {
      const { parse, headers, ...options } = webOptions(call, 2)
      const { type, body } = bodyOf(call)
      const hasType = headers.some(([header]) => header.toLowerCase() === 'content-type')
      const all: HttpRequest['headers'] = hasType ? headers : [...headers, ['content-type', type]]
      const response = await send({ ...options, url: urlOf(call), method: 'POST', headers: all, body }, call)
      return responseTable(response, { parse }, call)
    }),
    /**
     * `aip.web.parse_url(url?) → {scheme, host, port, path, query?, fragment, username, password, url, page_url}?`
     * Takes a URL apart; `query` is a table, `page_url` the URL without query and fragment. nil for nil; what is no URL
     * is an error.
     */
    parse_url: pure(parseUrl),
    /** `aip.web.resolve_href(href?, base) → string?` The URL that a link on a page leads to. nil for nil. */
    resolve_href: pure(resolveHref),
  },
  lua: {
    name: 'aip.web',
    /**
     * `aip.web.UA_AIPACK`
     * The user agent `aipack`, which `user_agent = true` sends too.
     */
    /**
     * `aip.web.UA_BROWSER`
     * The user agent of a browser.
     */
    text: `
aip.web.UA_AIPACK = ${JSON.stringify(userAgents.aipack)}
aip.web.UA_BROWSER = ${JSON.stringify(userAgents.browser)}
`,
  },
}

type Headers = readonly (readonly [string, string])[]

/** The options of `get` and `post`; ours beyond AIPack: `timeout_ms`. `parse` is whether JSON is read. */
function webOptions(call: HostCall, index: number) {
  const options = call.options(index)
  const redirectLimit = options.integer('redirect_limit') ?? 5
  if (redirectLimit < 0) throw call.error('the option redirect_limit must not be negative')
  return {
    headers: withUserAgent(headersOf(options.get('headers'), call), options.get('user_agent'), call),
    redirectLimit,
    timeLimitMs: options.milliseconds('timeout_ms') ?? 120_000,
    maxBytes,
    parse: options.flag('parse'),
  }
}

function headersOf(value: LuaValue, call: HostCall): Headers {
  return Object.entries(new Options(value, call.name).table).flatMap(([header, given]) => {
    const what = `the header ${header}`
    const values = Array.isArray(given) ? (given as readonly LuaValue[]) : [given]
    if (isTable(given) && !Array.isArray(given)) throw call.error(`${what} must be a string or a list of strings`)
    return values.map((item) => checkedHeader(header, text(item, call.name, what), call))
  })
}

function checkedHeader(header: string, value: string, call: HostCall): readonly [string, string] {
  try {
    new Headers([[header, value]])
    return [header, value]
  } catch {
    // the value may be a secret
    throw call.error(`the header ${JSON.stringify(header)} has a name or a value that HTTP cannot send`)
  }
}

/** The option wins over a header; `true` is the name of AIPack, `false` sends none. */
function withUserAgent(headers: Headers, option: LuaValue, call: HostCall): Headers {
  const isAgent = ([header]: Headers[number]): boolean => header.toLowerCase() === 'user-agent'
  const others = headers.filter((header) => !isAgent(header))
  const given = userAgentOption(option, call) ?? headers.find(isAgent)?.[1] ?? userAgents.aipack
  return given === false ? others : [...others, checkedHeader('user-agent', given, call)]
}

function userAgentOption(value: LuaValue, call: HostCall): string | false | undefined {
  if (value === undefined || value === false || typeof value === 'string') return value
  if (value === true) return userAgents.aipack
  throw call.error(`the option user_agent must be a string, true or false, but was ${luaTypeName(value)}`)
}

function urlOf(call: HostCall): URL {
  return readUrl(call.text(0, 'the url'), call)
}

/** Text is sent as AIPack does it, tables as JSON; a header of the script wins over the type. */
function bodyOf(call: HostCall): { readonly type: string; readonly body: string } {
  const [, data] = call.args
  if (typeof data === 'string' || data instanceof Uint8Array) return { type: 'plain/text', body: call.text(1) }
  if (!isTable(data)) throw call.error(`the data must be a string or a table, but was ${luaTypeName(data)}`)
  return { type: 'application/json', body: call.attempt(() => jsonText(data)) }
}

function send(request: HttpRequest, call: ActCall): Promise<HttpResponse> {
  const { context, name, at } = call
  const { method, body } = request
  const url = shownUrl(request.url)
  const connect = (target: URL): Action => ({ kind: 'connect', url: target.href, caller: name })
  // headers are never recorded: they carry keys
  const recorded = { method, url, ...(body === undefined ? {} : { body }) }
  const assumed = { status: 200, url, headers: {}, text: '' }
  const repeat = method === 'GET' ? 'safe' : 'unsafe'
  const effect = { kind: 'http', request: recorded, action: connect(request.url), repeat, assumed } as const
  return context.services.effects.perform<HttpResponse>(at, effect, async (stop, { allow }) => {
    const signal = AbortSignal.any([stop, context.services.signal])
    try {
      const check = (target: URL): void => allow(connect(target))
      // what it needs of Node takes longer to load than a short run takes
      const { sendHttp } = await import('../../base/http.ts')
      return await sendHttp({ ...request, check, checkPrivate: privateCheck(call, allow) }, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (isBatonError(error)) throw error
      throw new BatonError('SCRIPT_FAILED', `${name}: ${url} failed: ${messageOf(error)}`, {
        hint: 'Check the address and the network, or catch the error with pcall.',
        cause: error,
      })
    }
  })
}

/**
 * Who may reach this machine and private networks: packs whose capabilities name the host, and agents that are the user's
 * own. What others wrote must name it, and no answer from outside leads there.
 */
function privateCheck({ context: { scope }, name }: ActCall, allow: (action: Action) => void) {
  return (target: URL, how: 'asked' | 'redirected'): void => {
    if (scope.rights.packs.length > 0) {
      return allow({ kind: 'connect', url: target.href, caller: name, isPrivate: true })
    }
    if (how === 'asked' && !scope.isInstalled) return
    const [what, hint] =
      how === 'redirected'
        ? [`${target.host}, to which it is redirected, is a private address`, 'Ask for that address itself.']
        : [
            `the pack may not connect to ${target.host}, a private address: no capabilities of it name it`,
            '`baton unpack` makes a copy of the pack that is yours, and may.',
          ]
    throw new BatonError('UNTRUSTED', `${name}: ${what}`, { hint })
  }
}

function responseTable(
  { status, url, headers, text: body }: HttpResponse,
  { parse }: { readonly parse: boolean },
  call: HostCall,
): LuaValue {
  const type = headers['content-type']
  const isJson = parse && type !== undefined && type.toLowerCase().startsWith('application/json')
  const success = status >= 200 && status < 300
  return {
    success,
    status,
    url,
    content: isJson ? parsedBody(body, call) : body,
    content_type: type,
    headers,
    error: success ? undefined : `Not a 2xx status code (${status})`,
  }
}

function parsedBody(body: string, call: HostCall): LuaValue {
  return call.attempt(() => withoutTopNull(parseStrictJson(body)), 'Failed to parse response body as JSON: ')
}

/** The parts of a URL: `port` only when it is not that of the scheme, of equal query keys the last. */
function parseUrl(call: HostCall): LuaValue {
  const given = call.optionalText(0)
  if (given === undefined) return undefined
  const url = readUrl(given, call)
  const scheme = url.protocol.slice(0, -1)
  const query = Object.fromEntries(url.searchParams)
  return {
    scheme,
    host: url.hostname || undefined,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname,
    query: Object.keys(query).length === 0 ? undefined : query,
    fragment: url.href.includes('#') ? url.hash.slice(1) : undefined,
    username: url.username,
    password: url.password || undefined,
    url: url.href,
    page_url: `${scheme}://${url.host}${url.pathname}`,
  }
}

/** Where a link on a page leads. A link that is a whole URL stays as it is written. */
function resolveHref(call: HostCall): LuaValue {
  const given = call.optionalText(0, 'the link')
  if (given === undefined) return undefined
  if (URL.canParse(given)) return given
  const page = readUrl(call.text(1, 'the base'), call)
  if (URL.canParse(given, page.href)) return new URL(given, page).href
  throw call.error(`Cannot join '${given}' to '${page.href}'`)
}

function readUrl(given: string, call: HostCall): URL {
  if (URL.canParse(given)) return new URL(given)
  throw call.error(`Cannot parse url '${given}': it must be whole, like https://example.com/page`)
}
