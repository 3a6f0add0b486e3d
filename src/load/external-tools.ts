import type { ExternalTools } from '../agent/tool-names.ts'
import type { ServersOfPack } from '../config/unused-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import { pluginsOf } from './check-mode.ts'

/** The fields of `[mcp_servers]` that decide which servers exist. */
interface ServerSettings {
  readonly mcp_servers?: { readonly [name: string]: { readonly enabled?: boolean } }
}

/** The names of the MCP servers of the settings. */
export function serverNames({
  mcp_servers: servers = {},
}: Pick<Settings, 'plugins'> & ServerSettings): readonly string[] {
  return Object.entries(servers).flatMap(([name, { enabled }]) => (enabled === false ? [] : [name]))
}

/** The servers of a prompt file: those of its settings and those of its pack. */
export function serversOfFile({
  settings,
  leftOut,
  ofPack,
}: Pick<RunSpec, 'leftOut' | 'ofPack'> & { readonly settings: ServerSettings }): ServersOfPack {
  return withPackTools({ names: serverNames(settings), leftOut }, ofPack)
}

/** Adds the servers of a pack to those of a run. */
export function withPackTools({ names, leftOut }: ServersOfPack, ofPack?: ServersOfPack): ServersOfPack {
  if (ofPack === undefined) return { names, leftOut }
  // a server of an untrusted folder does not shadow one of a pack
  const others = leftOut.map((file) => ({ ...file, names: file.names.filter((name) => !ofPack.names.includes(name)) }))
  return {
    names: [...names, ...ofPack.names],
    leftOut: [...others.filter((file) => file.names.length > 0), ...ofPack.leftOut],
  }
}

/**
 * The tools that a prompt file may name besides those of Baton. `leftOut`: servers that are not used because their file
 * is not trusted.
 * @throws BatonError CONFIG_INVALID for a plug-in that cannot be used
 */
export async function externalToolsOf(
  spec: Pick<RunSpec, 'leftOut' | 'ofPack' | 'settings'>,
): Promise<Required<Omit<ExternalTools, 'isRecordedTool'>>> {
  const { tools } = await pluginsOf(spec.settings)
  const { names: servers, leftOut } = serversOfFile(spec)
  return { brought: tools.map(({ name }) => name), servers, leftOut }
}
