import { isJsonObject, type JsonObject } from '../base/json.ts'
import { referencesIn } from '../base/references.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'
import type { Settings } from './settings.ts'

/** A table of `[mcp_servers]`. */
export type ServerSettings = NonNullable<Settings['mcp_servers']>[string]

/** Whether a name can be the part before `__` in tool names, which hosts limit to 64 characters. */
export function isServerName(name: string): boolean {
  return /^[A-Za-z0-9][\w-]{0,39}$/.test(name) && !name.includes('__') && !name.endsWith('_')
}

/** Inconsistencies in checked tables: bad names, and keys of a program next to those of an address. */
export function checkServers(servers: JsonObject): readonly Finding[] {
  return Object.entries(servers).flatMap(([name, server]) => [
    ...(isServerName(name) ? [] : [badName(name)]),
    ...(isJsonObject(server) ? checkServer(name, server) : []),
  ])
}

function badName(name: string): Finding {
  const message = `"${name}" cannot be the name of a server: it precedes "__" in the names of its tools`
  const hint = 'Use at most 40 letters, digits, - and single _, starting with a letter or digit and not ending with _.'
  return wrongKey(['mcp_servers', name], { message, hint })
}

const ofPrograms = ['args', 'env', 'cwd'] as const
const ofAddresses = ['headers', 'bearer_token_env', 'oauth', 'auth_hosts'] as const

function checkServer(name: string, server: JsonObject): readonly Finding[] {
  const at = ['mcp_servers', name]
  // checked before
  const { type, command, url, enabled } = server as ServerSettings
  const wrong = (key: string, message: string, hint: string): Finding => ({
    ...wrongKey([...at, key], { message: `the server "${name}" ${message}`, hint }),
    isSecret: true,
  })
  if (command !== undefined && url !== undefined) {
    return [
      wrong(
        'url',
        'has both a command and a url',
        'Keep command for a program that is started, or url for a server that is already running.',
      ),
    ]
  }
  if (command === undefined && url === undefined) {
    if (enabled === false) return []
    const [key, what] = type === 'http' || type === 'sse' ? ['url', 'the address'] : ['command', 'the program']
    const message = type === undefined ? 'has neither a command nor a url' : `is of type "${type}" and has no ${key}`
    return [wrongKey(at, { message: `the server "${name}" ${message}`, hint: `Add ${key}, ${what} of the server.` })]
  }
  const isProgram = command !== undefined
  const mistyped =
    type !== undefined && isProgram !== (type === 'stdio')
      ? [
          wrong(
            'type',
            `has a ${isProgram ? 'command' : 'url'} and is of type "${type}"`,
            isProgram ? 'Write type = "stdio", or omit it.' : 'Write type = "http" or "sse", or omit it.',
          ),
        ]
      : []
  const misplaced = (isProgram ? ofAddresses : ofPrograms)
    .filter((key) => server[key] !== undefined)
    .map((key) => wrong(key, `has a ${isProgram ? 'command' : 'url'}, so "${key}" has no effect`, 'Remove it.'))
  return [
    ...mistyped,
    ...misplaced,
    ...(typeof url === 'string' ? checkUrl(name, url) : []),
    ...checkHeaders(name, server),
  ]
}

/** A url with references is only known when the server is contacted. */
function checkUrl(name: string, url: string): readonly Finding[] {
  if (referencesIn(url).length > 0 || isServerUrl(url)) return []
  const message = `the url of the server "${name}" must be an http:// or https:// address without user name and password`
  return [
    {
      ...wrongValue(['mcp_servers', name, 'url'], { message, hint: 'It looks like https://host/mcp.' }),
      isSecret: true,
    },
  ]
}

/** Whether requests can be sent to an address. */
export function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

function checkHeaders(name: string, { headers, bearer_token_env: bearer }: JsonObject): readonly Finding[] {
  if (!isJsonObject(headers)) return []
  return Object.entries(headers).flatMap(([header, value]): readonly Finding[] => {
    const path = ['mcp_servers', name, 'headers', header]
    const wrong = (message: string, hint: string): readonly Finding[] => [
      { ...wrongKey(path, { message, hint }), isSecret: true },
    ]
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header)) {
      return wrong(`"${header}" is not a valid header name`, 'Header names consist of letters, digits and -.')
    }
    if (bearer !== undefined && header.toLowerCase() === 'authorization') {
      return wrong(`the server "${name}" has bearer_token_env, which is the header Authorization`, 'Keep one of them.')
    }
    return typeof value === 'string' && /[\r\n\0]/.test(value)
      ? wrong(`the header "${header}" of the server "${name}" has a line break`, 'Write it on one line.')
      : []
  })
}

/** The environment variables that servers are given, directly or as part of other values. */
export function variablesOf(servers: JsonObject): readonly string[] {
  const names = Object.values(servers).flatMap((server) => {
    const { bearer_token_env: bearer, oauth } = isJsonObject(server) ? server : {}
    const secret = isJsonObject(oauth) ? oauth['client_secret_env'] : undefined
    const named = referencesIn(JSON.stringify(server)).map(({ name }) => name)
    return [...named, ...[bearer, secret].filter((one) => typeof one === 'string')]
  })
  return [...new Set(names)]
}
