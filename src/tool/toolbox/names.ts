/** Facts about a tool that are available without loading it. */
interface ToolFacts {
  /** In a few words, for lists. */
  readonly summary: string
  /** It changes files: offered only if `write_mode` lets the model do that. */
  readonly writes?: true
  /** It starts or ends plan mode: offered if files may be changed. */
  readonly plans?: true
  /** It changes nothing, so plan mode allows it. */
  readonly reads?: true
  /** Its calls wait for all earlier calls, and later calls wait for them, because the order matters. */
  readonly alone?: true
  /** The tool it belongs to and is useless without. */
  readonly with?: 'bash' | 'task'
  /** The default permission of its calls. */
  readonly initial: 'allow' | 'ask'
}

/** The tools that models can get, by name. */
const toolFacts = {
  bash: { summary: 'runs a command line', alone: true, initial: 'ask' },
  bash_output: {
    summary: 'shows the output of a background command',
    reads: true,
    with: 'bash',
    initial: 'allow',
  },
  edit: { summary: 'replaces text in a file', writes: true, initial: 'allow' },
  enter_plan: { summary: 'starts plan mode', plans: true, alone: true, initial: 'allow' },
  exit_plan: { summary: 'shows the plan, and ends plan mode', plans: true, alone: true, initial: 'ask' },
  read: { summary: 'reads files, images, PDF documents and folders', reads: true, initial: 'allow' },
  glob: { summary: 'finds files by a path pattern', reads: true, initial: 'allow' },
  interpreter_run: { summary: 'runs a program that calls the other tools', reads: true, initial: 'allow' },
  grep: { summary: 'searches files for a regular expression', reads: true, initial: 'allow' },
  kill: { summary: 'ends a background command', with: 'bash', initial: 'allow' },
  task: { summary: 'gives work to an agent', reads: true, initial: 'allow' },
  task_output: { summary: 'shows the result of an agent', reads: true, with: 'task', initial: 'allow' },
  task_stop: { summary: 'stops a background agent', reads: true, with: 'task', initial: 'allow' },
  todo: { summary: 'keeps a list of steps', reads: true, initial: 'allow' },
  webfetch: { summary: 'fetches a page', reads: true, initial: 'ask' },
  write: { summary: 'writes a whole file', writes: true, initial: 'allow' },
} as const satisfies { readonly [name: string]: ToolFacts }

export type ToolName = keyof typeof toolFacts

export const toolNames = Object.keys(toolFacts) as readonly ToolName[]

export function factsOf(name: ToolName): ToolFacts {
  return toolFacts[name]
}

/**
 * The tools for leading a team, in the order in which a model gets them, in a few words. Agents with `[collab]` have
 * them, and agents of their team that may start agents, whatever `tools` names. Settings that select tools do not apply
 * to them.
 */
export const teamTools = {
  spawn_agent: 'starts an agent of the team',
  send_input: 'sends a message to an agent',
  wait: 'waits until agents have ended',
  close_agent: 'ends an agent permanently',
} as const

/** The tools of a team that works on a list, in a few words. A member has those of the leader or those of a worker. */
export const itemTools = {
  task_create: 'adds an item to the list of the team',
  task_update: 'changes an item',
  task_list: 'shows the list of the team',
  task_claim: 'claims an item to work on it',
  task_complete: 'marks an item as done',
  read_messages: 'reads messages from the other members',
  send_message: 'sends a message to other members',
  leave_delegate: 'ends the work on the list',
} as const

/** Whether a model has the tool with this name because it is in a team. */
export function isTeamTool(name: string): boolean {
  return name in teamTools || name in itemTools
}

/** The tool that this one belongs to. */
export function comesWith(name: string): ToolName | undefined {
  const known = toolNames.find((one) => one === name)
  return known === undefined ? undefined : factsOf(known).with
}

/** Whether calls of this tool run alone. */
export function isAlone(name: string): boolean {
  return toolNames.some((known) => known === name && factsOf(known).alone === true)
}

/** Whether the tool with this name changes files. */
export function isWriter(name: string): boolean {
  return toolNames.some((known) => known === name && factsOf(known).writes === true)
}
