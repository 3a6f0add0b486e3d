import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import type { HttpRequest, HttpResponse } from '../../base/http.ts'
import { sendHttp, shownUrl } from '../../base/http.ts'
import { parseStrictJson } from '../../base/jsonc.ts'
import type { Place } from '../../event/effects.ts'
import { notGranted } from '../../tool/guard.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, luaTypeName, text } from './arguments.ts'
import { jsonText } from './json-text.ts'
import { withoutTopNull } from './json.ts'
import type { HostModule, Section } from './module.ts'
import { readWebOptions, userAgents, type WebOptions } from './web-options.ts'
import { parseUrl, readUrl, resolveHref } from './web-url.ts'

const maxBytes = 32 * 1024 * 1024

/** `aip.web` (spec/aipack.md 6.2, vector 88). Any status is an answer; only when there is none it is an error. */
export const webModule: HostModule = {
  name: 'aip.web',
  functions: {
    /**
     * `aip.web.get(url, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Fetches a page. Any status is an answer, and `success` says whether it was 2xx; no answer is an error. The
     * options are `user_agent`, `headers`, `redirect_limit` (5), `timeout_ms` (2 minutes) and `parse`, with which an
     * answer of type JSON becomes a table.
     */
    get: {
      effect: 'act',
      call: async ([url, options], section, at) => {
        const name = 'aip.web.get'
        const given = readWebOptions(options, name)
        const request = { ...requestOf(url, given, name), method: 'GET' as const }
        return [await send(request, { name, section, at, parse: given.parse })]
      },
    },
    /**
     * `aip.web.post(url, data, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Sends a text, or a table as JSON. Options and result are those of `aip.web.get`.
     */
    post: {
      effect: 'act',
      call: async ([url, data, options], section, at) => {
        const name = 'aip.web.post'
        const given = readWebOptions(options, name)
        const { type, body } = bodyOf(data, name)
        const { headers, ...request } = requestOf(url, given, name)
        const hasType = headers.some(([header]) => header.toLowerCase() === 'content-type')
        const all: HttpRequest['headers'] = hasType ? headers : [...headers, ['content-type', type]]
        return [
          await send({ ...request, method: 'POST', headers: all, body }, { name, section, at, parse: given.parse }),
        ]
      },
    },
    /**
     * `aip.web.parse_url(url?) → {scheme, host, port, path, query?, fragment, username, password, url, page_url}?`
     * Takes a URL apart; `query` is a table, `page_url` the URL without query and fragment. nil for nil; what is no URL
     * is an error.
     */
    parse_url: { effect: 'pure', call: ([url]) => [parseUrl(url)] },
    /**
     * `aip.web.resolve_href(href?, base) → string?`
     * The URL that a link on a page leads to. nil for nil.
     */
    resolve_href: { effect: 'pure', call: ([href, base]) => [resolveHref(href, base)] },
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

function requestOf(url: LuaValue, { headers, redirectLimit, timeLimitMs }: WebOptions, name: string) {
  return { url: readUrl(text(url, name, 'the url'), name), headers, redirectLimit, timeLimitMs, maxBytes }
}

/** Text is sent as AIPack does it, tables as JSON; a header of the script wins over the type. */
function bodyOf(data: LuaValue, name: string): { readonly type: string; readonly body: string } {
  if (typeof data === 'string') return { type: 'plain/text', body: data }
  if (!isTable(data)) throw argumentError(name, `the data must be a string or a table, but was ${luaTypeName(data)}`)
  try {
    return { type: 'application/json', body: jsonText(data) }
  } catch (error) {
    throw argumentError(name, messageOf(error))
  }
}

interface Sending {
  readonly name: string
  readonly section: Section
  readonly at: Place
  readonly parse: boolean
}

async function send(request: HttpRequest, { name, section, at, parse }: Sending): Promise<LuaValue> {
  const { context } = section
  const { method, body } = request
  const url = shownUrl(request.url)
  const check = (target: URL): void => {
    const refused = context.rights?.connect(target)
    if (refused !== undefined) throw notGranted(name, refused)
  }
  check(request.url)
  // headers are never recorded: they carry keys
  const recorded = { method, url, ...(body === undefined ? {} : { body }) }
  const assumed = { status: 200, url, headers: {}, text: '' }
  const effect = { kind: 'http', request: recorded, repeat: method === 'GET' ? 'safe' : 'unsafe', assumed } as const
  const response = await context.effects.perform(at, effect, async (stop) => {
    const signal = AbortSignal.any([stop, context.signal])
    try {
      return await sendHttp({ ...request, check }, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (isBatonError(error)) throw error
      throw new BatonError('SCRIPT_FAILED', `${name}: ${url} failed: ${messageOf(error)}`, {
        hint: 'Check the address and the network, or let the script go on with pcall.',
        cause: error,
      })
    }
  })
  return responseTable(response, { name, parse })
}

function responseTable(response: HttpResponse, { name, parse }: Pick<Sending, 'name' | 'parse'>): LuaValue {
  const { status, url, headers, text: body } = response
  const type = headers['content-type']
  const isJson = parse && type !== undefined && type.toLowerCase().startsWith('application/json')
  const success = status >= 200 && status < 300
  return {
    success,
    status,
    url,
    content: isJson ? parsedBody(body, name) : body,
    content_type: type,
    headers,
    error: success ? undefined : `Not a 2xx status code (${status})`,
  }
}

function parsedBody(body: string, name: string): LuaValue {
  try {
    return withoutTopNull(parseStrictJson(body))
  } catch (error) {
    throw argumentError(name, `Failed to parse response body as JSON: ${messageOf(error)}`)
  }
}
