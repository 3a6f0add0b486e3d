import { resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import { withReferences } from '../base/references.ts'
import { originText, type SourcedValue } from '../config/layers.ts'
import { packFolderVariable } from '../config/mcp-pack-paths.ts'
import { isServerUrl, type ServerSettings } from '../settings/mcp-servers.ts'
import type { Settings } from '../config/settings.ts'
import type { McpLogin, McpServer, McpTransport } from '../event/mcp.ts'
import { serverSecrets } from '../journal/server-secrets.ts'
import { fullName } from './names.ts'

/** The default time limits of a server, in seconds. */
const defaults = { start: 10, tool: 60 } as const

export interface ServersOfOptions {
  readonly settings: Pick<Settings, 'mcp_servers'>
  /** Where they are configured. */
  readonly origins: readonly SourcedValue[]
  /** Absolute. */
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * The pack that brings them: paths are relative to its folder (absolute), which is `${PACK_DIR}`. Omitted for servers
   * of a run.
   */
  readonly pack?: { readonly identity: string; readonly dir: string }
}

/** The servers in the settings, without disabled ones. */
export function serversOf(options: ServersOfOptions): readonly McpServer[] {
  const { mcp_servers: servers = {} } = options.settings
  return Object.entries(servers).flatMap(([name, given]) =>
    given.enabled === false ? [] : [serverOf(name, given, options)],
  )
}

function serverOf(name: string, given: ServerSettings, options: ServersOfOptions): McpServer {
  const { origins, workspace, pack } = options
  const env = pack === undefined ? options.env : { ...options.env, [packFolderVariable]: pack.dir }
  const shown = fullName({ name, ...defined({ pack: pack?.identity }) })
  const origin = serverOrigin(name, origins)
  const { startup_timeout_sec: start = defaults.start, tool_timeout_sec: tool = defaults.tool } = given
  const { tools, disallowed_tools: disallowedTools, trusted = false, sampling = false, oauth } = given
  const { defer_tools: defersTools } = given
  const missing = (variable: string): never => {
    throw new BatonError('KEY_MISSING', `the MCP server ${shown} needs the variable ${variable}, which is not set`, {
      hint: `Set it: ${origin} refers to it. \${${variable}:-text} gives it a default.`,
    })
  }
  return {
    name,
    transport: () =>
      transportOf(given, {
        name: shown,
        origin,
        folder: pack?.dir ?? workspace,
        isPack: pack !== undefined,
        env,
        missing,
      }),
    startMs: start * 1000,
    toolMs: tool * 1000,
    ...defined({ tools, disallowedTools, defersTools, login: oauth && loginOf(oauth, env, missing) }),
    isTrusted: trusted,
    sampling,
    secrets: () => serverSecrets({ [name]: given }, env),
    origin,
    ...defined({ pack: pack?.identity }),
  }
}

function loginOf(
  { client_id: clientId, client_secret_env: secret, scope, port }: NonNullable<ServerSettings['oauth']>,
  env: ServersOfOptions['env'],
  missing: (variable: string) => never,
): McpLogin {
  const clientSecret = (): string | undefined =>
    secret === undefined ? undefined : (env[secret] ?? '').trim() || missing(secret)
  return { clientSecret, ...defined({ clientId, scope, port }) }
}

interface Resolving extends Pick<ServersOfOptions, 'env'> {
  /** Base folder of paths: absolute. A server of a pack cannot work outside of it. */
  readonly folder: string
  readonly isPack: boolean
  readonly name: string
  readonly origin: string
  readonly missing: (variable: string) => never
}

/** @throws BatonError KEY_MISSING, CONFIG_INVALID for an address that is invalid once its variables are replaced */
function transportOf(
  given: ServerSettings,
  { name, origin, folder: start, isPack, env, missing }: Resolving,
): McpTransport {
  const { type, command, args = [], env: own = {}, cwd = '', headers = {}, bearer_token_env: bearer } = given
  const filled = (text: string): string => withReferences(text, env, missing)
  const filledTable = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(table).map(([key, value]) => [key, filled(value)]))
  if (command !== undefined) {
    const folder = resolve(start, filled(cwd))
    if (isPack && !isInside(realPath(start), realPath(folder))) {
      throw new BatonError('CONFIG_INVALID', `the MCP server ${name} works in ${folder}, which is outside its pack`, {
        hint: `Check cwd in ${origin}.`,
      })
    }
    const program = filled(command)
    return {
      kind: 'stdio',
      command: program.includes('/') ? resolve(folder, program) : program,
      args: args.map(filled),
      env: filledTable(own),
      cwd: folder,
    }
  }
  const url = filled(given.url ?? '')
  if (!isServerUrl(url)) {
    const message = `the url of the MCP server ${name} is not an http:// or https:// address without user name and password`
    throw new BatonError('CONFIG_INVALID', message, { hint: `Check the variables it refers to in ${origin}.` })
  }
  const key = bearer === undefined ? undefined : (env[bearer] ?? '').trim() || missing(bearer)
  const all = { ...filledTable(headers), ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }) }
  const { auth_hosts: authHosts } = given
  return {
    kind: type === 'sse' ? 'sse' : 'http',
    url,
    headers: all,
    isNamed: type !== undefined,
    ...defined({ authHosts }),
  }
}

/**
 * `baton.toml:3`. The line is found by searching the text: parsing it again for line numbers would take longer than
 * starting a server.
 */
export function serverOrigin(name: string, origins: readonly SourcedValue[]): string {
  const layer = origins.find(({ path: [key, inner] }) => key === 'mcp_servers' && inner === name)?.layer
  if (layer === undefined) return 'the settings'
  const header = new RegExp(`^\\s*(?:\\[\\s*mcp_servers\\s*\\.\\s*["']?${name}["']?\\s*\\]|.*"${name}"\\s*:\\s*\\{)`)
  const line = (layer.text ?? '').split('\n').findIndex((text) => header.test(text))
  return `${originText(layer.origin)}${line === -1 ? '' : `:${line + 1}`}`
}
