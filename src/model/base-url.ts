import { BatonError } from '../base/error.ts'

/** A base URL in its parts. `url` has no query and no slash at its end; `host` has the port when it is not the usual. */
export interface BaseUrl {
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
