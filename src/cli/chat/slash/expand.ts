import type { ChatCommand, ChatCommandSettings } from '../../../config/chat-commands.ts'
import { toolsInBoth } from '../../../load/tools-in-both.ts'
import { wordsOf } from './words.ts'

/** What a command file expands to: a message, and the settings for that message alone. */
export interface ExpandedCommand {
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
  return tools === undefined || from === 'user' ? settings : { ...settings, tools: toolsInBoth(tools, chatTools) }
}
