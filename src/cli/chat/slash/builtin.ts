/** A command that every chat has. */
export interface BuiltinCommand {
  /** What stands behind its name; empty: nothing. */
  readonly hint: string
  readonly summary: string
}

/** By their names, in the order of `/help`. */
export const builtinCommands = {
  help: { hint: '', summary: 'list the commands' },
  iter: { hint: '[--background] COUNT|DURATION "PROMPT"', summary: 'work on a prompt again and again' },
  tasks: { hint: '', summary: 'list what works in the background' },
  stop: { hint: '[ID]', summary: 'stop one task in the background, or all' },
  collab: { hint: '[on|off]', summary: 'let the model start agents and lead them' },
  mode: { hint: '[NAME]', summary: 'show or set how messages are executed' },
  model: { hint: '[NAME]', summary: 'show or set the model' },
  undo: { hint: '', summary: 'put back the files that the last message has changed' },
  compact: { hint: '', summary: 'sum up the chat, so that later messages take less' },
  cost: { hint: '', summary: 'show what the chat has used so far' },
  save: { hint: 'FILE', summary: 'write the chat as a prompt file' },
  clear: { hint: '', summary: 'begin a new chat' },
  resume: { hint: '[ID]', summary: 'list the chats, or continue another one' },
  exit: { hint: '', summary: 'end the chat' },
} as const satisfies { readonly [name: string]: BuiltinCommand }

export type BuiltinName = keyof typeof builtinCommands

export function isBuiltin(name: string): name is BuiltinName {
  return Object.hasOwn(builtinCommands, name)
}
