import type { LuaValue } from '../engine.ts'
import { argumentError, optionalText, text } from './arguments.ts'

/** The parts of a URL (spec/aipack.md 6.2): `port` only when it is not that of the scheme, of equal query keys the last. */
export function parseUrl(value: LuaValue): LuaValue {
  const name = 'aip.web.parse_url'
  const given = optionalText(value, name)
  if (given === undefined) return undefined
  const url = readUrl(given, name)
  const scheme = url.protocol.slice(0, -1)
  const query = Object.fromEntries(url.searchParams)
  return {
    scheme,
    host: url.hostname || undefined,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname,
    query: Object.keys(query).length === 0 ? undefined : query,
    fragment: url.hash === '' ? undefined : url.hash.slice(1),
    username: url.username,
    password: url.password || undefined,
    url: url.href,
    page_url: `${scheme}://${url.host}${url.pathname}`,
  }
}

/** Where a link on a page leads (vector 88). A link that is a whole URL stays as it is written. */
export function resolveHref(href: LuaValue, base: LuaValue): LuaValue {
  const name = 'aip.web.resolve_href'
  const given = optionalText(href, name, 'the link')
  if (given === undefined) return undefined
  if (URL.canParse(given)) return given
  const page = readUrl(text(base, name, 'the base'), name)
  try {
    return new URL(given, page).href
  } catch {
    throw argumentError(name, `Cannot join '${given}' to '${page.href}'`)
  }
}

/** @throws BatonError SCRIPT_FAILED when the text is no absolute URL */
export function readUrl(given: string, name: string): URL {
  try {
    return new URL(given)
  } catch {
    throw argumentError(name, `Cannot parse url '${given}': it must be whole, like https://example.com/page`)
  }
}
