import { BatonError } from '../base/error.ts'

/**
 * The parts of a base URL. `url` has no query and no trailing slash; `host` includes a port that is not the default.
 */
export interface BaseUrl {
  readonly url: string
  readonly host: string
  readonly query: { readonly [name: string]: string }
}

/**
 * Parses a base URL. `source`: how messages name the place it comes from. A user name or password in it is refused,
 * because it would end up in logs and messages.
 * @throws BatonError CONFIG_INVALID; the message never contains the URL, which may contain a secret
 */
export function readBaseUrl(text: string, source: string): BaseUrl {
  if (!URL.canParse(text)) throw invalid(source, 'is not a URL')
  const { protocol, username, password, origin, pathname, host, searchParams } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') throw invalid(source, `starts with ${protocol}`)
  if (username !== '' || password !== '') throw invalid(source, 'contains a user name or a password')
  return { url: `${origin}${pathname.replace(/\/+$/, '')}`, host, query: Object.fromEntries(searchParams) }
}

function invalid(source: string, problem: string): BatonError {
  return new BatonError('CONFIG_INVALID', `the base URL of ${source} ${problem}`, {
    hint: 'It looks like https://host/v1; put the key into an environment variable and name that in api_key_env.',
  })
}

/** The base URL, including the version, from the value of an environment variable. */
export function readBaseUrlVariable(value: string, form: 'ollama' | 'without-version' | undefined): string {
  if (form === undefined) return value
  return form === 'ollama' ? ollamaBaseUrl(value) : withVersion(value)
}

/** Other clients that read `ANTHROPIC_BASE_URL` append the version, so users set it without. */
function withVersion(value: string): string {
  const url = value.replace(/\/+$/, '')
  return /\/v\d+\w*$/.test(url) ? url : `${url}/v1`
}

const ollamaPort = '11434'
const defaultPorts: { readonly [scheme: string]: string } = { http: '80', https: '443' }

/**
 * The base URL for `OLLAMA_HOST`, which Ollama itself reads as `[scheme://]host[:port][/path]` with every part
 * optional. A wildcard address such as 0.0.0.0 is replaced by loopback.
 */
function ollamaBaseUrl(value: string): string {
  const [, scheme, rest = ''] = /^(?:(\w+):\/\/)?(.*)$/s.exec(value) ?? []
  const [place = '', ...path] = rest.split('/')
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d*))?$/.exec(place) ?? [undefined, place]
  const host = bracketed === undefined ? (plain ?? '') : `[${bracketed}]`
  const known = host === '' || host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host
  const defaults = scheme === undefined ? ollamaPort : (defaultPorts[scheme] ?? ollamaPort)
  const parts = path.filter((part) => part !== '')
  // users also set the base URL of its OpenAI-compatible API
  const below = (parts.at(-1) === 'v1' ? parts.slice(0, -1) : parts).map((part) => `/${part}`)
  return `${scheme ?? 'http'}://${known}:${port === undefined || port === '' ? defaults : port}${below.join('')}/v1`
}
