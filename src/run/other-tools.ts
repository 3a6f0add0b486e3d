import type { OtherTools } from '../agent/tool-names.ts'
import type { LeftOutServers } from '../config/left-out-servers.ts'
import type { Settings } from '../config/settings.ts'
import { pluginsOf } from './check-mode.ts'

/** What of `[mcp_servers]` decides which servers there are. */
interface ServerSettings {
  readonly mcp_servers?: { readonly [name: string]: { readonly enabled?: boolean } }
}

/** The names of the MCP servers that settings have. */
export function serverNames({
  mcp_servers: servers = {},
}: Pick<Settings, 'plugins'> & ServerSettings): readonly string[] {
  return Object.entries(servers).flatMap(([name, { enabled }]) => (enabled === false ? [] : [name]))
}

/**
 * The tools that settings bring besides those of Baton. `leftOut`: servers that are not used, because their file is not trusted.
 * @throws BatonError CONFIG_INVALID for a plug-in that cannot be used
 */
export async function otherToolsOf(
  settings: Pick<Settings, 'plugins'> & ServerSettings,
  leftOut: readonly LeftOutServers[] = [],
): Promise<Required<OtherTools>> {
  const { tools } = await pluginsOf(settings)
  return { brought: tools.map(({ name }) => name), servers: serverNames(settings), leftOut }
}
