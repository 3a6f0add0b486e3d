import type { ScriptAgent } from '../event/agent.ts'
import { narrow, type RunContext, withScope } from '../event/context.ts'
import { packGrant, packOfFile } from '../pack/granted.ts'
import { supportFolder } from '../pack/find-pack.ts'
import { aipackBase, temporaryFolder } from '../script/host/resolve-path.ts'
import type { AgentParts } from './parts.ts'

/**
 * The context of an agent: held to the capabilities of the pack it is part of, also where it was named by its path, and
 * what it runs with it. Agents of no pack, and of packs without capabilities, may do what their caller may.
 * @throws BatonError CONFIG_INVALID for capabilities that cannot be read
 */
export async function holdToPack(
  agent: Pick<ScriptAgent, 'file'>,
  { reads }: Pick<AgentParts, 'reads'>,
  context: RunContext,
): Promise<RunContext> {
  const { workspace, packRoots } = context.scope.folders
  const pack = packOfFile(agent.file, packRoots)
  if (pack === undefined) return context
  const { granted, isInstalled } = await packGrant(pack, reads)
  const own = isInstalled ? withScope(context, { isInstalled }) : context
  if (granted === undefined) return own
  const around = { workspace, aipackBase: aipackBase(context) }
  const keptFolders = [
    supportFolder(pack, 'workspace', around),
    supportFolder(pack, 'base', around),
    temporaryFolder(context),
  ]
  return narrow(own, { pack: { identity: pack.identity, granted, ownFolders: [pack.dir], keptFolders } })
}
