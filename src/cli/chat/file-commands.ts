import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined } from '../../base/json.ts'
import type { Outgoing } from '../../chat/chat.ts'
import type { ChatCommand, ChatCommands, ChatCommandSettings } from '../../config/chat-commands.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { chatCommandsHere } from '../../pack/chat-commands.ts'
import { parsePrompt } from '../../prompt/document.ts'
import type { Surroundings } from '../io.ts'
import type { Session } from './session.ts'
import { builtinCommands } from './slash/builtin.ts'
import { intersectTools } from '../../load/intersect-tools.ts'
import { wordsOf } from './slash/words.ts'

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
  const overrides = tools === undefined ? [] : [`tools=${JSON.stringify(tools)}`]
  return { text, overrides, ...defined({ model, mode }) }
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

/** What a command file expands to: a message, and the settings for that message alone. */
interface ExpandedCommand {
  readonly text: string
  readonly settings: ChatCommandSettings
}

const placeholder = /\\(\$(?:ARGUMENTS|[1-9]))|\$(?:ARGUMENTS\b|([1-9])(?!\d))/g

/**
 * Expands a command file to a message. `$ARGUMENTS` is everything after the command name, `$1` to `$9` are its words;
 * a missing word is empty. If the text has no placeholder, the arguments are appended as a separate paragraph. A
 * backslash escapes a placeholder.
 * @param rest everything after the command name
 * @param chatTools names or patterns of the tools that messages of the chat have
 * @throws BatonError USAGE for a quote that is not closed, if the text has `$1` to `$9`
 */
export function expandCommand(command: ChatCommand, rest: string, chatTools: readonly string[]): ExpandedCommand {
  return { text: filledIn(command.text, rest.trim()), settings: settingsOf(command, chatTools) }
}

function filledIn(text: string, rest: string): string {
  const found = [...text.matchAll(placeholder)].filter(([, kept]) => kept === undefined)
  const words = found.some(([, , digit]) => digit !== undefined) ? wordsOf(rest) : []
  const filled = text.replaceAll(placeholder, (_, kept: string | undefined, digit: string | undefined) => {
    if (kept !== undefined) return kept
    return digit === undefined ? rest : (words[Number(digit) - 1]?.text ?? '')
  })
  return found.length > 0 || rest === '' ? filled : `${filled}\n\n${rest}`
}

/** A file that comes with a folder cannot give its message tools that the chat does not have. */
function settingsOf({ settings, from }: ChatCommand, chatTools: readonly string[]): ChatCommandSettings {
  const { tools } = settings
  return tools === undefined || from === 'user' ? settings : { ...settings, tools: intersectTools(tools, chatTools) }
}
