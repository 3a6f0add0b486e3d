import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined } from '../../base/json.ts'
import type { Outgoing } from '../../chat/chat.ts'
import type { ChatCommand, ChatCommands } from '../../config/chat-commands.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { chatCommandsHere } from '../../pack/chat-commands.ts'
import { parsePrompt } from '../../prompt/document.ts'
import type { Surroundings } from '../io.ts'
import type { Session } from './session.ts'
import { builtinCommands } from './slash/builtin.ts'
import { expandCommand } from './slash/expand.ts'

/** The commands defined by files, as they are now. */
export function fileCommands(around: Surroundings): Promise<ChatCommands> {
  return chatCommandsHere(around, Object.keys(builtinCommands))
}

/**
 * The message that a command file expands to, with the settings for that message alone.
 * @throws BatonError USAGE for a quote that is not closed
 */
export async function messageOf(command: ChatCommand, rest: string, session: Session): Promise<Outgoing> {
  const { text, settings } = expandCommand(command, rest, await toolsOf(session))
  const { tools, mode, model } = settings
  const overrides = [
    ...(tools === undefined ? [] : [`tools=${JSON.stringify(tools)}`]),
    ...(mode === undefined ? [] : [`mode=${JSON.stringify(mode)}`]),
  ]
  return { text, overrides, ...defined({ model }) }
}

/** Names or patterns of the tools that messages of the chat have. */
async function toolsOf({ chat, around }: Session): Promise<readonly string[]> {
  const { file, overrides } = chat.settings()
  const { settings } = await loadTargetConfig({ ...around, flags: { overrides } })
  if (file === undefined) return settings.tools ?? ['*']
  const path = resolve(around.cwd, file)
  const { data } = existsSync(path) ? (await parsePrompt(file, readFileSync(path, 'utf8'))).meta : { data: {} }
  const written: unknown = 'tools' in data ? data['tools'] : undefined
  return Array.isArray(written) ? written.map(String) : (settings.tools ?? [])
}
