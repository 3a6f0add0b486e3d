import type { ScriptAgent } from '../event/agent.ts'
import { emit, narrow, type RunContext, withScope, withServices } from '../event/context.ts'
import { type OwningPack, packGrant, packOfFile } from '../pack/granted.ts'
import { supportFolder } from '../pack/find-pack.ts'
import { aipackBase, temporaryFolder } from '../script/host/resolve-path.ts'
import type { AgentParts } from './parts.ts'

/**
 * The context of an agent, limited to the capabilities of its pack (also if it was named by its path), like everything
 * it runs, and with the MCP servers that only this pack provides. Agents of no pack, and of packs without capabilities,
 * may do what their caller may. If the files of a pack differ from what was installed, a warning is sent before
 * anything of it runs.
 * @throws BatonError CONFIG_INVALID for unreadable capabilities
 */
export async function restrictToPack(
  agent: Pick<ScriptAgent, 'file'>,
  {
    reads,
    isChangedPack,
    openedChanges = [],
    serversOf,
  }: Pick<AgentParts, 'reads' | 'isChangedPack' | 'openedChanges' | 'serversOf'>,
  given: RunContext,
): Promise<RunContext> {
  const { workspace, packRoots } = given.scope.folders
  const pack = packOfFile(agent.file, packRoots)
  const context = await withServersOf(pack, serversOf, given)
  if (pack === undefined) return context
  if ((await isChangedPack?.(pack)) === true) {
    emit(context, {
      type: 'warning',
      message: `${pack.identity} was modified after its installation: files in ${pack.dir} were changed`,
      hint: `baton list ${pack.identity} shows where it came from; baton install ${pack.identity} --force reinstalls it.`,
      urgent: true,
    })
  }
  const { granted, isInstalled } = await packGrant(pack, reads)
  const own = isInstalled ? withScope(context, { isInstalled }) : context
  if (granted === undefined) return own
  const around = { workspace, aipackBase: aipackBase(context) }
  const keptFolders = [
    supportFolder(pack, 'workspace', around),
    supportFolder(pack, 'base', around),
    temporaryFolder(context),
  ]
  const executed = context.services.sources.executed()
  const held = { identity: pack.identity, granted, ownFolders: [pack.dir], keptFolders, executed, allow: openedChanges }
  return narrow(own, { pack: held })
}

async function withServersOf(
  pack: OwningPack | undefined,
  serversOf: AgentParts['serversOf'],
  context: RunContext,
): Promise<RunContext> {
  if (serversOf === undefined) return context
  const { mcp, ...services } = context.services
  const own = await serversOf(pack)
  if (own === mcp) return context
  return own === undefined ? { ...context, services } : withServices(context, { mcp: own })
}
