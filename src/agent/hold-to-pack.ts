import type { ScriptAgent } from '../event/agent.ts'
import { emit, narrow, type RunContext, withScope } from '../event/context.ts'
import { packGrant, packOfFile } from '../pack/granted.ts'
import { supportFolder } from '../pack/find-pack.ts'
import { aipackBase, temporaryFolder } from '../script/host/resolve-path.ts'
import type { AgentParts } from './parts.ts'

/**
 * The context of an agent: held to the capabilities of the pack it is part of, also where it was named by its path, and
 * what it runs with it. Agents of no pack, and of packs without capabilities, may do what their caller may. A pack that
 * is not what was installed is told before anything of it runs.
 * @throws BatonError CONFIG_INVALID for capabilities that cannot be read
 */
export async function holdToPack(
  agent: Pick<ScriptAgent, 'file'>,
  { reads, isChangedPack, openedChanges = [] }: Pick<AgentParts, 'reads' | 'isChangedPack' | 'openedChanges'>,
  context: RunContext,
): Promise<RunContext> {
  const { workspace, packRoots } = context.scope.folders
  const pack = packOfFile(agent.file, packRoots)
  if (pack === undefined) return context
  if ((await isChangedPack?.(pack)) === true) {
    emit(context, {
      type: 'warning',
      message: `${pack.identity} is not what was installed: files in ${pack.dir} were changed`,
      hint: `baton list ${pack.identity} shows where it came from; baton install ${pack.identity} --force puts that in its place.`,
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
