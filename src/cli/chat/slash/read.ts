import { nearest } from '../../../base/suggest.ts'
import { usageError } from '../../command.ts'
import { type BuiltinName, builtinCommands, isBuiltin } from './builtin.ts'

/** What the user typed into a chat. */
export type Typed =
  | { readonly kind: 'message'; readonly text: string }
  /** `!command`: a shell command of the user. */
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'builtin'; readonly name: BuiltinName; readonly rest: string }
  /** A command defined by a file. */
  | { readonly kind: 'command'; readonly name: string; readonly rest: string }

/**
 * Reads a line of a chat. `//…` is a message that starts with a slash, and so is a line that starts with a path.
 * @param commands names of command files
 * @throws BatonError USAGE for a command that does not exist
 */
export function readTyped(line: string, commands: readonly string[]): Typed {
  const text = line.trim()
  if (text.startsWith('!') && text.slice(1).trim() !== '') return { kind: 'shell', command: text.slice(1).trim() }
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) }
  const [, name = '', rest = ''] = /^\/([\w:-]+)(?:\s+([^]*))?$/.exec(text) ?? []
  if (name === '') return { kind: 'message', text }
  if (isBuiltin(name)) return { kind: 'builtin', name, rest }
  if (commands.includes(name)) return { kind: 'command', name, rest }
  const meant = nearest(name, [...Object.keys(builtinCommands), ...commands])
  const guess = meant === undefined ? '' : `Did you mean /${meant}? `
  throw usageError(
    `there is no command /${name}`,
    `${guess}See /help; to send a message that starts with a slash, type // first.`,
  )
}
