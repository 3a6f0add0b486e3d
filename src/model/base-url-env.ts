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
