import type { LeftOutServers } from '../config/left-out-servers.ts'
import type { Settings } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { defined } from '../base/json.ts'
import type { McpServers } from '../event/mcp.ts'
import { knownLogins } from '../mcp/auth/known-login.ts'
import { serverOrigin, serversOf } from '../mcp/server-of.ts'
import { createMcpServers, type McpNotice } from '../mcp/servers.ts'
import { version } from '../version.ts'
import { maskFor } from '../wiring/run-context.ts'
import type { GlobalFlags } from './command.ts'
import { type CommandIo, surroundings } from './io.ts'

/** The MCP servers of the settings here, for commands that ask them without a run. */
export interface ServersHere {
  /** None of them is started yet; whoever opened them closes it. */
  readonly service: McpServers
  /** As they are written, those that are switched off too. */
  readonly tables: NonNullable<Settings['mcp_servers']>
  /** Those that are not used, because their file is not trusted. */
  readonly leftOut: readonly LeftOutServers[]
  /** Where the table of a server is written. */
  readonly originOf: (name: string) => string
  /** Hides their secrets in a text. */
  readonly hide: (text: string) => string
}

/** @throws BatonError for settings that are wrong */
export async function openServersHere(
  flags: Pick<GlobalFlags, 'chdir' | 'config'>,
  io: CommandIo,
  {
    onNotice,
    canAsk = false,
  }: {
    readonly onNotice?: (notice: McpNotice) => void
    /** Whether somebody answers what a server asks. */ readonly canAsk?: boolean
  } = {},
): Promise<ServersHere> {
  const around = surroundings(flags, io)
  const env = { ...around.env }
  const config = await loadTargetConfig({ ...around, env, flags: { overrides: flags.config } })
  const { settings, origins, workspace, leftOut } = config
  const { hide } = await maskFor({ settings }, env)
  const service = createMcpServers({
    version,
    env,
    servers: serversOf({ settings, origins, workspace, env }),
    roots: [workspace],
    authProvider: knownLogins({ env, home: around.home }),
    // a server that could only be told no is told that there is nobody
    canAsk,
    signal: io.signal,
    ...defined({ onNotice }),
  })
  return { service, tables: settings.mcp_servers ?? {}, leftOut, originOf: (name) => serverOrigin(name, origins), hide }
}
