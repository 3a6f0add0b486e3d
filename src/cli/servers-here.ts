import type { UnusedServers } from '../config/unused-servers.ts'
import type { Settings } from '../config/settings.ts'
import { loadTargetConfig, type TargetConfig } from '../config/target-config.ts'
import { defined } from '../base/json.ts'
import type { McpServer, McpServers } from '../event/mcp.ts'
import { knownLogins } from '../mcp/auth/known-login.ts'
import { fullName } from '../mcp/names.ts'
import { serverOrigin, serversOf } from '../mcp/server-of.ts'
import { createMcpServers, type McpNotice } from '../mcp/servers.ts'
import { packRoots } from '../pack/find-pack.ts'
import { type PackServers, readAllPackServers, withoutNamed } from '../pack/pack-servers.ts'
import { version } from '../version.ts'
import { maskFor } from '../wiring/run-context.ts'
import type { GlobalFlags } from './command.ts'
import { type CommandIo, surroundings } from './io.ts'

/** The MCP servers of the settings and the packs of this folder, for commands that call them without a run. */
export interface ServersHere {
  /** No server is started yet. The caller must close it. */
  readonly service: McpServers
  /** As written in the settings, including disabled servers. */
  readonly tables: NonNullable<Settings['mcp_servers']>
  /** Servers that are not used, and why. */
  readonly leftOut: readonly UnusedServers[]
  /** Servers of packs that are replaced by a server of the settings with the same name. */
  readonly replaced: readonly { readonly name: string; readonly origin: string; readonly by: string }[]
  /** Where a server is defined. */
  readonly originOf: (name: string) => string
  /** Masks their secrets in a text. */
  readonly hide: (text: string) => string
}

/** @throws BatonError for invalid settings */
export async function openServersHere(
  flags: Pick<GlobalFlags, 'chdir' | 'config'>,
  io: CommandIo,
  {
    onNotice,
    canAsk = false,
  }: {
    readonly onNotice?: (notice: McpNotice) => void
    /** Whether somebody can answer questions of a server. */ readonly canAsk?: boolean
  } = {},
): Promise<ServersHere> {
  const around = surroundings(flags, io)
  const env = { ...around.env }
  const config = await loadTargetConfig({ ...around, env, flags: { overrides: flags.config } })
  const { settings, origins, workspace } = config
  const ofPacks = (await readAllPackServers(packRoots(workspace, around), around)).map((pack) =>
    packHere(pack, { settings, workspace, env, originOf: (name) => serverOrigin(name, origins) }),
  )
  const tables = Object.fromEntries(ofPacks.flatMap((pack) => Object.entries(pack.tables)))
  const { hide } = await maskFor({ settings }, env, tables)
  const service = createMcpServers({
    version,
    env,
    servers: [...serversOf({ settings, origins, workspace, env }), ...ofPacks.flatMap(({ servers }) => servers)],
    roots: [workspace],
    authProvider: knownLogins({ env, home: around.home }),
    // otherwise servers must know that nobody answers, instead of getting a refusal each time
    canAsk,
    signal: io.signal,
    ...defined({ onNotice }),
  })
  const places = Object.assign({}, ...ofPacks.map((pack) => pack.places)) as Readonly<Record<string, string>>
  return {
    service,
    tables: { ...settings.mcp_servers, ...tables },
    leftOut: [...config.leftOut, ...ofPacks.flatMap(({ leftOut }) => leftOut)],
    replaced: ofPacks.flatMap(({ replaced }) => replaced),
    originOf: (name) => places[name] ?? serverOrigin(name, origins),
    hide,
  }
}

interface PackHere extends Pick<ServersHere, 'tables' | 'leftOut' | 'replaced'> {
  readonly servers: readonly McpServer[]
  readonly places: Readonly<Record<string, string>>
}

/** The servers of a pack under the names that commands use: `namespace@pack:server`. */
function packHere(
  found: PackServers,
  {
    settings,
    workspace,
    env,
    originOf,
  }: Pick<TargetConfig, 'settings' | 'workspace'> & Pick<CommandIo, 'env'> & Pick<ServersHere, 'originOf'>,
): PackHere {
  const { identity, origins } = found
  const full = (name: string): string => fullName({ name, pack: identity })
  const used = withoutNamed(found, settings)
  const servers = serversOf({ settings: { mcp_servers: used.tables }, origins, workspace, env, pack: found })
  const hidden = Object.keys(found.tables).filter((name) => used.tables[name] === undefined)
  const placeOf = (name: string): string => serverOrigin(name, origins)
  return {
    // in commands, the pack is part of the name
    servers: servers.map((server) => ({ ...server, name: full(server.name), pack: undefined })),
    tables: renamed(used.tables, full),
    places: Object.fromEntries(Object.keys(found.tables).map((name) => [full(name), placeOf(name)])),
    leftOut: used.leftOut.map((one) => ({ ...one, names: one.names.map(full) })),
    replaced: hidden.map((name) => ({ name: full(name), origin: placeOf(name), by: originOf(name) })),
  }
}

function renamed<T>(table: Readonly<Record<string, T>>, rename: (name: string) => string): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [rename(name), value]))
}
