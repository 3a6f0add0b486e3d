import { type ChatCommands, collectChatCommands } from '../config/chat-commands.ts'
import { findWorkspace, type Surroundings } from '../config/locate.ts'
import type { ReadLog } from '../base/reads.ts'
import { listPacks, packRoots } from './find-pack.ts'

/**
 * The chat commands from files that are available here: those of the workspace, of the user and of packs.
 * @param builtInNames names of commands that files cannot take
 */
export function chatCommandsHere(
  around: Surroundings & { readonly reads?: ReadLog | undefined },
  builtInNames: readonly string[],
): Promise<ChatCommands> {
  const workspace = findWorkspace(around)
  const packs = listPacks({ packRoots: packRoots(workspace, around) })
  return collectChatCommands({ ...around, workspace, packs, builtInNames })
}
