/** A built-in command of every chat. */
export interface BuiltinCommand {
  /** Its arguments; empty if it takes none. */
  readonly hint: string
  readonly summary: string
}

/** By name, in the order of `/help`. */
export const builtinCommands = {
  help: { hint: '', summary: 'list the commands' },
  iter: {
    hint: '[--background] COUNT|DURATION "PROMPT"',
    summary: 'repeat a prompt, a number of times or for a duration',
  },
  tasks: { hint: '', summary: 'list the tasks in the background' },
  stop: { hint: '[ID]', summary: 'stop one background task, or all' },
  collab: { hint: '[on|off]', summary: 'let the model start and lead a team of agents' },
  mode: { hint: '[NAME]', summary: 'show or set the execution mode' },
  model: { hint: '[NAME]', summary: 'show or set the model' },
  permissions: { hint: '[revoke N|all]', summary: 'list what needs no further question, or revoke what was allowed' },
  undo: { hint: '', summary: 'restore the files that the last message has changed' },
  compact: { hint: '', summary: 'summarize the chat, so that later messages use fewer tokens' },
  cost: { hint: '', summary: 'show what the chat has used so far' },
  save: { hint: 'FILE', summary: 'save the chat as a prompt file' },
  clear: { hint: '', summary: 'start a new chat' },
  resume: { hint: '[ID]', summary: 'list the chats, or switch to another one' },
  exit: { hint: '', summary: 'end the chat' },
} as const satisfies { readonly [name: string]: BuiltinCommand }

export type BuiltinName = keyof typeof builtinCommands

export function isBuiltin(name: string): name is BuiltinName {
  return Object.hasOwn(builtinCommands, name)
}
