import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { type HttpRequest, type HttpResponse, sendHttp } from '../../base/http.ts'
import { parseStrictJson } from '../../base/json-text.ts'
import { shownUrl } from '../../base/shown-url.ts'
import type { Action } from '../../event/permission.ts'
import type { LuaValue } from '../engine.ts'
import { type ActCall, type HostCall, isTable, luaTypeName, Options, text } from './call.ts'
import { jsonText, withoutTopNull } from './json.ts'
import { readUrl, userAgents } from './web.ts'

/** Far more than a page has: following them is work of the script, which no limit of it interrupts. */
const mostRedirects = 100
const maxBytes = 32 * 1024 * 1024

/** `aip.web.get`: a page as a table. Rejects if there is no response. */
export async function getPage(call: ActCall): Promise<LuaValue> {
  const { parse, ...options } = webOptions(call, 1)
  const response = await send({ ...options, url: urlOf(call), method: 'GET' }, call)
  return responseTable(response, { parse }, call)
}

/** `aip.web.post`: sends a string, or a table as JSON, and returns the response as a table. */
export async function postData(call: ActCall): Promise<LuaValue> {
  const { parse, headers, ...options } = webOptions(call, 2)
  const { type, body } = bodyOf(call)
  const hasType = headers.some(([header]) => header.toLowerCase() === 'content-type')
  const all: HttpRequest['headers'] = hasType ? headers : [...headers, ['content-type', type]]
  const response = await send({ ...options, url: urlOf(call), method: 'POST', headers: all, body }, call)
  return responseTable(response, { parse }, call)
}

function urlOf(call: HostCall): URL {
  return readUrl(call.text(0, 'the url'), call)
}

type Headers = readonly (readonly [string, string])[]

/** The options of `get` and `post`; Baton's extension to AIPack: `timeout_ms`. `parse` is whether JSON is parsed. */
function webOptions(call: HostCall, index: number) {
  const options = call.options(index)
  const redirectLimit = options.integer('redirect_limit') ?? 5
  if (redirectLimit < 0) throw call.error('the option redirect_limit must not be negative')
  return {
    headers: withUserAgent(headersOf(options.get('headers'), call), options.get('user_agent'), call),
    redirectLimit: Math.min(redirectLimit, mostRedirects),
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

/** The option takes precedence over a header; `true` sends AIPack's name, `false` sends none. */
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

/** Text is sent as in AIPack, tables as JSON; a `content-type` header of the script takes precedence. */
function bodyOf(call: HostCall): { readonly type: string; readonly body: string } {
  const [, data] = call.args
  if (typeof data === 'string' || data instanceof Uint8Array) return { type: 'plain/text', body: call.text(1) }
  if (!isTable(data)) throw call.error(`the data must be a string or a table, but was ${luaTypeName(data)}`)
  return { type: 'application/json', body: call.attempt(() => jsonText(data)) }
}

function send(request: Omit<HttpRequest, 'env'>, call: ActCall): Promise<HttpResponse> {
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
      return await sendHttp(
        { ...request, env: context.services.env, check, checkPrivate: privateCheck(call, allow) },
        signal,
      )
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
 * Access to this machine and private networks is for packs whose capabilities name the host, and for the user's own
 * agents. Installed packs must name the host, and a redirect from outside is never followed there.
 */
function privateCheck({ context: { scope }, name }: ActCall, allow: (action: Action) => void) {
  return (target: URL, how: 'asked' | 'redirected'): void => {
    if (scope.rights.packs.length > 0) {
      return allow({ kind: 'connect', url: target.href, caller: name, isPrivate: true })
    }
    if (how === 'asked' && !scope.isInstalled) return
    const [what, hint] =
      how === 'redirected'
        ? [`${target.host}, the target of a redirect, is a private address`, 'Request that address directly.']
        : [
            `the pack may not connect to ${target.host}, a private address: its capabilities do not name that host`,
            '`baton unpack` makes your own copy of the pack, which may connect.',
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
