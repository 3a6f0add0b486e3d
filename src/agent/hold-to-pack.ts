import type { ScriptAgent } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { packGrant, packOfFile } from '../pack/granted.ts'
import { supportFolder } from '../pack/pack-path.ts'
import { temporaryFolder } from '../script/host/resolve-path.ts'
import { holdTo } from '../tool/capabilities.ts'
import type { AgentParts } from './parts.ts'

/**
 * The context of an agent: held to the capabilities of the pack it is part of, also where it was named by its path, and
 * what it runs in its turn with it. Agents of no pack, and of packs without capabilities, may do what their caller may.
 * @throws BatonError CONFIG_INVALID for capabilities that cannot be read
 */
export async function holdToPack(
  agent: Pick<ScriptAgent, 'file'>,
  { reads }: Pick<AgentParts, 'reads'>,
  context: RunContext,
): Promise<RunContext> {
  const { places, workspace } = context
  const pack = places === undefined ? undefined : packOfFile(agent.file, places.packRoots)
  if (places === undefined || pack === undefined) return context
  const { granted, isInstalled } = await packGrant(pack, reads)
  const own = isInstalled ? { ...context, isInstalled } : context
  if (granted === undefined) return own
  const around = { workspace, aipackBase: places.aipackBase }
  const keptFolders = [
    supportFolder(pack, 'workspace', around),
    supportFolder(pack, 'base', around),
    temporaryFolder(context),
  ]
  const held = { identity: pack.identity, granted, ownFolders: [pack.dir], keptFolders }
  return { ...own, ...holdTo(held, context) }
}
