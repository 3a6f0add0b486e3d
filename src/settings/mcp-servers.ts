import { isJsonObject, type JsonObject } from '../base/json.ts'
import { referencesIn } from '../base/references.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'
import { frameTable, type SettingRow, type TableOf, user } from './setting.ts'

export const mcpServers = {
  ...frameTable,
  decides: true,
  // every call of a server is a separate effect
  isLimit: true,
  order: user,
  isPlain: true,
  text: 'MCP servers whose tools, resources and prompts may be used, by name. Only in your own config file.',
  check: checkServers,
  each: 'name',
  keys: {
    type: {
      schema: ({ oneOf }) => oneOf('stdio', 'http', 'sse'),
      text: 'The transport. Default: stdio with a command, http with a url, which falls back to sse.',
    },
    command: { schema: ({ name }) => name, text: 'The program that is the server, as a shell would find it.' },
    args: {
      schema: ({ texts }) => texts,
      text: 'Its arguments. ${NAME} and ${NAME:-default} refer to environment variables.',
    },
    env: {
      schema: ({ tableOf, text }) => tableOf(text),
      text: 'Environment variables of the program. It gets few others, such as PATH.',
    },
    cwd: { schema: ({ name }) => name, text: 'Its working folder, relative to the workspace. Default: the workspace.' },
    url: { schema: ({ name }) => name, text: 'The address of a server that is running.' },
    headers: { schema: ({ tableOf, text }) => tableOf(text), text: 'Headers of every request to it.' },
    bearer_token_env: {
      schema: ({ variableName }) => variableName,
      text: 'The environment variable that contains the key that is sent to it.',
    },
    oauth: {
      text: 'For logins at servers without dynamic client registration.',
      keys: {
        client_id: { schema: ({ name }) => name, text: 'The client id that you have registered there.' },
        client_secret_env: {
          schema: ({ variableName }) => variableName,
          text: 'The environment variable that contains its secret.',
        },
        scope: { schema: ({ name }) => name, text: 'The requested scopes. Default: as the server specifies.' },
        port: {
          schema: ({ integer }) => integer(1, 65_535),
          text: 'The port of this machine to which the browser is redirected. Default: any.',
        },
      },
    },
    auth_hosts: {
      schema: ({ exactHosts }) => exactHosts,
      text: 'Further hosts that a login may use for tokens and metadata, for example "login.example.com".',
    },
    startup_timeout_sec: {
      schema: ({ number }) => number(0.1, 1_000_000),
      text: 'Time limit for starting, connecting and listing, in seconds. Default: 10.',
    },
    tool_timeout_sec: {
      schema: ({ number }) => number(0.1, 1_000_000),
      text: 'Time limit of a call, in seconds. Default: 60.',
    },
    tools: {
      schema: ({ toolNames }) => toolNames,
      text: 'Its tools that are available: names in the server, or patterns. Default: all.',
    },
    disallowed_tools: { schema: ({ toolNames }) => toolNames, text: 'Its tools that are not available.' },
    defer_tools: {
      schema: ({ flag }) => flag,
      text: 'Whether models search for its tools. Default: beyond 10 kB.',
    },
    trusted: {
      schema: ({ flag }) => flag,
      text: 'What it says of its tools is trusted, for example that one only reads.',
    },
    sampling: { schema: ({ flag }) => flag, text: 'It may send requests to your model, within budget and permission.' },
    enabled: { schema: ({ flag }) => flag, text: 'false disables it.' },
  },
} as const satisfies SettingRow

/** A table of `[mcp_servers]`. */
export type ServerSettings = TableOf<typeof mcpServers>

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
