import { referencesIn } from '../base/references.ts'
import type { Environment, MaskOptions } from './secret-values.ts'

/** A table of `[mcp_servers]` or `[agents]`, as far as it may contain secrets. */
interface ServerTable {
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
  readonly url?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly bearer_token_env?: string | undefined
  readonly oauth?: { readonly client_secret_env?: string | undefined } | undefined
}

/** Variables that contain paths, or user names. */
const ordinary = /^(?:HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|PATH|LANG|LC_\w+|TZ|TMPDIR|TERM|XDG_\w+|BATON_HOME)$/
const isPath = (text: string): boolean => /^(?:~|\.{1,2})?\/[^\s]*$/.test(text) && text.split('/').length > 2
/** Common in ordinary text: a word, a number, an address without a key. */
const isPlain = (text: string): boolean =>
  /^(?:[\p{L}_.-]+|[\d.,:]+)$/u.test(text) || /^https?:\/\/[^\s?#@]*$/.test(text) || isPath(text)
/** Headers that describe the content and what is accepted. */
const plainHeader =
  /^(?:accept(?:-\w+)?|content-type|user-agent|cache-control|origin|referer|x-mcp-(?:readonly|toolsets?|host))$/i

/**
 * The secrets to mask in the settings of MCP servers, or of programs that are agents: the variables that the settings
 * refer to, unless they are paths; bearer keys; values of `env` and headers that are not ordinary words; and the values
 * in the query strings of their addresses. `of`: the name of the table that contains them.
 */
export function serverSecrets(
  servers: Readonly<Record<string, ServerTable>>,
  env: Environment,
  of: 'mcp_servers' | 'agents' = 'mcp_servers',
): Required<Pick<MaskOptions, 'keys' | 'values'>> {
  const tables = Object.entries(servers)
  const keys = tables.flatMap(
    ([
      ,
      { command = '', args = [], env: given = {}, cwd = '', url = '', headers = {}, bearer_token_env: bearer, oauth },
    ]) => {
      const texts = [command, ...args, cwd, url, ...Object.values(given), ...Object.values(headers)]
      const named = texts.flatMap((text) => referencesIn(text).map(({ name }) => name))
      return [
        ...named.filter((name) => !ordinary.test(name) && !isPath(env[name] ?? '')),
        ...[bearer, oauth?.client_secret_env].filter((one) => one !== undefined),
      ]
    },
  )
  const values = tables.flatMap(([name, { env: given = {}, headers = {}, url = '' }]) => [
    ...written(`${of}.${name}.env`, Object.entries(given)),
    ...written(
      `${of}.${name}.headers`,
      Object.entries(headers).filter(([header]) => !plainHeader.test(header)),
    ),
    ...inQuery(`${of}.${name}.url`, url),
  ])
  return { keys: [...new Set(keys)], values: Object.fromEntries(values) }
}

/** Literal values; references are covered by the variables. `Bearer KEY` contains a key. */
function written(of: string, entries: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  return entries
    .filter(([, text]) => referencesIn(text).length === 0)
    .flatMap(([key, text]) => [
      [`${of}.${key}`, text] as const,
      ...text
        .trim()
        .split(/\s+/)
        .slice(1)
        .map((word, index) => [`${of}.${key}#${index + 1}`, word] as const),
    ])
    .filter(([, text]) => !isPlain(text))
}

function inQuery(of: string, url: string): readonly (readonly [string, string])[] {
  if (!URL.canParse(url)) return []
  return [...new URL(url).searchParams]
    .filter(([, value]) => referencesIn(value).length === 0 && !isPlain(value))
    .map(([parameter, value]) => [`${of}?${parameter}`, value] as const)
}
