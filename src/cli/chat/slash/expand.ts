import type { ChatCommand, ChatCommandSettings } from '../../../config/chat-commands.ts'
import { toolsInBoth } from '../../../run/tools-in-both.ts'
import { wordsOf } from './words.ts'

/** What a command of a file is to the chat: a message, and what that message alone is run with. */
export interface ExpandedCommand {
  readonly text: string
  readonly settings: ChatCommandSettings
}

const placeholder = /\\(\$(?:ARGUMENTS|[1-9]))|\$(?:ARGUMENTS\b|([1-9])(?!\d))/g

/**
 * The message that a command of a file stands for. `$ARGUMENTS` is all that stands behind its name, `$1` to `$9` are the
 * words of it; one that is not there is empty. Behind a text that has none of these, what was typed is a paragraph of
 * its own. A backslash before one keeps it as it is written.
 * @param rest what stands behind the name
 * @param chatTools names of the tools, or patterns, that messages of the chat have
 * @throws BatonError USAGE for a quote that is not closed, where the text has `$1` to `$9`
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

/** A file that comes with a folder gives its message no tools that the chat does not have. */
function settingsOf({ settings, from }: ChatCommand, chatTools: readonly string[]): ChatCommandSettings {
  const { tools } = settings
  return tools === undefined || from === 'user' ? settings : { ...settings, tools: toolsInBoth(tools, chatTools) }
}
