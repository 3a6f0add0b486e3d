import { type BatonError, isBatonError, rewordError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { commandSpecs } from './command-specs.ts'

/** The command that a mistyped word probably means; undefined if none is similar. */
export function suggestedCommand(word: string): string | undefined {
  return nearest(word, Object.keys(commandSpecs))
}

/**
 * The error for a target that does not exist. The hint first suggests `-p` for words that may be the prompt itself, or
 * the command that the name is similar to.
 */
export function withSuggestion(error: unknown, target: string): unknown {
  if (!isBatonError(error) || !isNotFound(error) || !error.message.includes(target)) return error
  const meant = suggestedCommand(target)
  if (/\s/.test(target.trim())) {
    return rewordError(error, {
      hint: `If it is the prompt itself, give it with -p: ${promptLine(target)}. ${error.hint ?? ''}`,
    })
  }
  if (error.code !== 'AGENT_NOT_FOUND') return error
  const hint = aipackHint(target) ?? flagHint(target)
  if (hint !== undefined) return rewordError(error, { hint })
  if (meant === undefined) return error
  return rewordError(error, { hint: `Did you mean baton ${meant}? ${error.hint ?? ''}`.trimEnd() })
}

/** What does here what a command of AIPack does; undefined for any other word. */
export function aipackHint(word: string): string | undefined {
  return Object.hasOwn(aipackCommands, word) ? `For aip ${word}, ${aipackCommands[word]}.` : undefined
}

/** The hint for the name of a flag that was written like a command: `baton version`, `baton replay`. */
function flagHint(word: string): string | undefined {
  const isFlag = ['version', ...Object.keys(commandSpecs.run.flags)].includes(word)
  return isFlag ? `${word} is a flag: baton --${word}. See baton --help.` : undefined
}

/** Commands of AIPack that have another name here, or none: what does the same. See docs/coming-from-aipack.md. */
const aipackCommands: Readonly<Record<string, string>> = {
  'check-keys': 'use baton doctor, which shows the keys that are set',
  create: 'use baton new, which writes an agent or a prompt file',
  'init-base': 'do nothing: Baton needs no such folder',
  'create-gitignore': 'write .gitignore yourself: Baton needs none',
  self: 'update Baton with npm',
  xelf: 'update Baton with npm',
}

function isNotFound({ code, message }: BatonError): boolean {
  return code === 'AGENT_NOT_FOUND' || (code === 'FILE_UNREADABLE' && message.startsWith('there is no file '))
}

/** One line that can be copied, for a text that is not too long. */
function promptLine(text: string): string {
  return text.length > 80 || /[\n'"$`\\!]/.test(text) ? 'baton -p TEXT' : `baton -p "${text}"`
}
