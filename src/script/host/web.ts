import type { LuaValue } from '../engine.ts'
import type { HostCall } from './call.ts'
import { type HostModule, pure, waiting } from './module.ts'

/** The user agents of requests by scripts. */
export const userAgents = {
  aipack: 'aipack',
  browser:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const

/** `aip.web`. Any HTTP status is a result; only a missing response is an error. */
export const webModule: HostModule = {
  name: 'aip.web',
  functions: {
    /**
     * `aip.web.get(url, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Fetches a page. `success` is true if the status is 2xx; other statuses do not raise an error, but a missing
     * response does. The options are `user_agent`, `headers`, `redirect_limit` (5), `timeout_ms` (2 minutes) and
     * `parse`, which turns a JSON response into a table.
     */
    get: waiting(async (call) => (await requests()).getPage(call)),
    /**
     * `aip.web.post(url, data, options?) → {success, status, url, content, content_type?, headers?, error?}`
     * Sends a string, or a table as JSON. Options and result are those of `aip.web.get`.
     */
    post: waiting(async (call) => (await requests()).postData(call)),
    /**
     * `aip.web.parse_url(url?) → {scheme, host, port, path, query?, fragment, username, password, url, page_url}?`
     * Parses a URL; `query` is a table, `page_url` the URL without query and fragment. nil for nil; an invalid URL is
     * an error.
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

function requests() {
  return import('./web-request.ts')
}

/** The parts of a URL: `port` only if it is not the default of the scheme; for repeated query keys, the last value. */
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

/** The target of a link on a page. A link that is an absolute URL is returned unchanged. */
function resolveHref(call: HostCall): LuaValue {
  const given = call.optionalText(0, 'the link')
  if (given === undefined) return undefined
  if (URL.canParse(given)) return given
  const page = readUrl(call.text(1, 'the base'), call)
  if (URL.canParse(given, page.href)) return new URL(given, page).href
  throw call.error(`Cannot join '${given}' to '${page.href}'`)
}

/** @throws BatonError if the text is not an absolute URL */
export function readUrl(given: string, call: HostCall): URL {
  if (URL.canParse(given)) return new URL(given)
  throw call.error(`Cannot parse url '${given}': it must be a full URL, like https://example.com/page`)
}
