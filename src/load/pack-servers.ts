import type { UnusedServers, ServersOfPack } from '../config/unused-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import { packRoots } from '../pack/find-pack.ts'
import { packOfFile } from '../pack/granted.ts'
import { mayHaveServers } from '../pack/server-file.ts'
import { withPackTools, serverNames } from './external-tools.ts'
import type { TargetOptions } from './options.ts'

type Around = Pick<TargetOptions, 'cwd' | 'env' | 'home' | 'reads' | 'flags'>

interface Run {
  readonly workspace: string
  readonly settings: Settings
}

/**
 * The MCP servers that the pack of a file (absolute) provides for its agents, without those that the settings of the
 * run name; undefined for files that are not in a pack, and for packs without servers. In a replay, the recorded ones.
 * @throws BatonError CONFIG_INVALID, FILE_UNREADABLE for an invalid pack
 */
async function serversOfPack(
  file: string,
  { workspace, settings }: Run,
  around: Around,
): Promise<ServersOfPack | undefined> {
  const pack = packOfFile(file, packRoots(workspace, around))
  if (pack === undefined) return undefined
  const recorded = around.flags.recordedOfPack?.(pack.identity)
  if (recorded !== undefined) return { names: recorded, leftOut: [] }
  if (!mayHaveServers(pack, around.reads)) return undefined
  const { readPackServers, withoutNamed } = await import('../pack/pack-servers.ts')
  const found = await readPackServers(pack, around)
  if (found === undefined) return undefined
  const { names, leftOut } = withoutNamed(found, settings)
  // servers that were never needed are not recorded, and are not needed now either
  return around.flags.recordedOfPack === undefined
    ? { names, leftOut }
    : { names: [...names, ...leftOut.flatMap((one) => one.names)], leftOut: [] }
}

/** A prompt file with the servers of its pack. @throws as `serversOfPack` does */
export async function withPackServers(spec: RunSpec, around: Around): Promise<RunSpec> {
  if (spec.source !== 'file') return spec
  const ofPack = await serversOfPack(spec.file, spec, around)
  return ofPack === undefined ? spec : { ...spec, ofPack }
}

/** All MCP servers of an agent file (absolute) in a run. @throws as `serversOfPack` does */
export async function serversOfAgent(
  file: string,
  run: Run & { readonly leftOut?: readonly UnusedServers[] },
  around: Around,
): Promise<ServersOfPack> {
  const { settings, leftOut = [] } = run
  return withPackTools({ names: serverNames(settings), leftOut }, await serversOfPack(file, run, around))
}
