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
    hint: '[--background] [--with-chat] COUNT|DURATION "PROMPT"',
    summary: 'repeat a prompt, a number of times or for a duration, without this chat or with it',
  },
  tasks: { hint: '', summary: 'list what runs in the background: tasks, and commands that the model has started' },
  stop: { hint: '[ID]', summary: 'stop one of them, or all tasks' },
  mcp: { hint: '[restart NAME]', summary: 'list the MCP servers with their state, or start one anew' },
  collab: { hint: '[on|off]', summary: 'let the model start and lead a team of agents' },
  mode: { hint: '[NAME]', summary: 'show or set the execution mode' },
  model: { hint: '[NAME]', summary: 'show or set the model' },
  permissions: { hint: '[revoke N|all]', summary: 'list what needs no further question, or revoke what was allowed' },
  undo: { hint: '', summary: 'restore the files that the last message has changed' },
  fork: { hint: '[N]', summary: 'continue after message N in a copy of the chat (default: the last)' },
  rewind: {
    hint: '[N] [--keep-files]',
    summary: 'go back to message N and restore the files; without N, list the messages',
  },
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
