import { BatonError } from '../base/error.ts'

/** A base URL in its parts. `url` has no query and no slash at its end; `host` has the port when it is not the usual. */
interface BaseUrl {
  readonly url: string
  readonly host: string
  readonly query: { readonly [name: string]: string }
}

/**
 * Takes a base URL apart. `source`: what messages call the place it was written in. User name and password in it are refused: they would end up in logs and messages.
 * @throws BatonError CONFIG_INVALID; the message never repeats the text, which may hold a secret
 */
export function readBaseUrl(text: string, source: string): BaseUrl {
  if (!URL.canParse(text)) throw invalid(source, 'is not a URL')
  const { protocol, username, password, origin, pathname, host, searchParams } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') throw invalid(source, `begins with ${protocol}`)
  if (username !== '' || password !== '') throw invalid(source, 'holds a user name or a password')
  return { url: `${origin}${pathname.replace(/\/+$/, '')}`, host, query: Object.fromEntries(searchParams) }
}

function invalid(source: string, problem: string): BatonError {
  return new BatonError('CONFIG_INVALID', `the base URL of ${source} ${problem}`, {
    hint: 'It looks like https://host/v1; keys go into an environment variable that api_key_env names.',
  })
}

/** A base URL as an environment variable holds it, for a format that wants the version in it. */
export function readBaseUrlVariable(value: string, form: 'ollama' | 'without-version' | undefined): string {
  if (form === undefined) return value
  return form === 'ollama' ? ollamaBaseUrl(value) : withVersion(value)
}

/** Other clients of `ANTHROPIC_BASE_URL` add the version to it, so people write it without. */
function withVersion(value: string): string {
  const url = value.replace(/\/+$/, '')
  return /\/v\d+\w*$/.test(url) ? url : `${url}/v1`
}

const ollamaPort = '11434'
const defaultPorts: { readonly [scheme: string]: string } = { http: '80', https: '443' }

/**
 * The base URL behind `OLLAMA_HOST`, which Ollama itself reads as `[scheme://]host[:port][/path]` with every part
 * optional. An address that listens everywhere is reached on loopback.
 */
function ollamaBaseUrl(value: string): string {
  const [, scheme, rest = ''] = /^(?:(\w+):\/\/)?(.*)$/s.exec(value) ?? []
  const [place = '', ...path] = rest.split('/')
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d*))?$/.exec(place) ?? [undefined, place]
  const host = bracketed === undefined ? (plain ?? '') : `[${bracketed}]`
  const known = host === '' || host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host
  const usual = scheme === undefined ? ollamaPort : (defaultPorts[scheme] ?? ollamaPort)
  const parts = path.filter((part) => part !== '')
  // people also write the base URL of its OpenAI-compatible API
  const below = (parts.at(-1) === 'v1' ? parts.slice(0, -1) : parts).map((part) => `/${part}`)
  return `${scheme ?? 'http'}://${known}:${port === undefined || port === '' ? usual : port}${below.join('')}/v1`
}
