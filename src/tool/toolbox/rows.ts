import type { ToolSubject } from '../../event/permission.ts'
import type { SubjectKind, ToolKind } from './kind.ts'

/*
 * The tools of this program. A tool is one row here and one file; everything else follows from the row: its default
 * rules, what patterns of rules are matched against, when it is offered, plan mode, lists, help and checks.
 */

interface RowFacts {
  /** In a few words, for lists. */
  readonly summary: string
  /**
   * What its calls do. `reads`: they only read. `writes`: they change files, so it is offered only if `write_mode` lets
   * the model do that. `nothing`: nobody outside the conversation notices them. `acts`: everything else. Plan mode allows
   * `reads` and `nothing`.
   */
  readonly touches: 'reads' | 'writes' | 'nothing' | 'acts'
  /** The default permission of its calls. Calls with a path also have the rules of default-rules.ts. */
  readonly initial: 'allow' | 'ask'
  /** It starts or ends plan mode: offered if files may be changed. */
  readonly plans?: true
  /** Its calls wait for all earlier calls, and later calls wait for them, because the order matters. */
  readonly alone?: true
  /** The tool it belongs to and is useless without. */
  readonly with?: 'bash' | 'task'
}

/** What the patterns of a tool's rules are matched against: each call has one. */
interface WithSubject {
  readonly subject: Exclude<ToolSubject['kind'], 'any'>
  /** Loaded only if a model gets the tool; omitted: agent/ makes it, from other tools or agents. */
  readonly load?: () => Promise<SubjectKind>
}

/** `why`: what makes it safe that rules cannot tell its calls apart. */
interface WithoutSubject {
  readonly subject: { readonly none: string }
  readonly load?: () => Promise<ToolKind>
}

type ToolRow = RowFacts & (WithSubject | WithoutSubject)

/** It reaches only commands, agents, lists and tools that the conversation has. */
const ofConversation = { none: 'it is of the conversation' } as const

/** The tools that `tools` names, in the order in which models get them. */
const rows = {
  bash: {
    summary: 'runs a command line',
    touches: 'acts',
    subject: 'command',
    initial: 'ask',
    alone: true,
    load: async (): Promise<SubjectKind> => (await import('./bash.ts')).bash,
  },
  bash_output: {
    summary: 'shows the output of a background command',
    touches: 'reads',
    subject: ofConversation,
    initial: 'allow',
    with: 'bash',
    load: async (): Promise<ToolKind> => (await import('./bash.ts')).bashOutput,
  },
  edit: {
    summary: 'replaces text in a file',
    touches: 'writes',
    subject: 'path',
    initial: 'allow',
    load: async (): Promise<SubjectKind> => (await import('./edit-and-write.ts')).edit,
  },
  enter_plan: {
    summary: 'starts plan mode',
    touches: 'nothing',
    subject: 'path',
    initial: 'allow',
    plans: true,
    alone: true,
    load: async (): Promise<SubjectKind> => (await import('./plan-tools.ts')).enterPlan,
  },
  exit_plan: {
    summary: 'shows the plan, and ends plan mode',
    touches: 'nothing',
    subject: { none: 'its path was permitted' },
    initial: 'ask',
    plans: true,
    alone: true,
    load: async (): Promise<ToolKind> => (await import('./plan-tools.ts')).exitPlan,
  },
  read: {
    summary: 'reads files, images, PDF documents and folders',
    touches: 'reads',
    subject: 'path',
    initial: 'allow',
    load: async (): Promise<SubjectKind> => (await import('./read.ts')).read,
  },
  glob: {
    summary: 'finds files by a path pattern',
    touches: 'reads',
    subject: 'path',
    initial: 'allow',
    load: async (): Promise<SubjectKind> => (await import('./glob.ts')).glob,
  },
  interpreter_run: {
    summary: 'runs a program that calls the other tools',
    touches: 'nothing',
    subject: { none: 'its calls are permitted' },
    initial: 'allow',
  },
  grep: {
    summary: 'searches files for a regular expression',
    touches: 'reads',
    subject: 'path',
    initial: 'allow',
    load: async (): Promise<SubjectKind> => (await import('./grep.ts')).grep,
  },
  kill: {
    summary: 'ends a background command',
    touches: 'acts',
    subject: ofConversation,
    initial: 'allow',
    with: 'bash',
    load: async (): Promise<ToolKind> => (await import('./bash.ts')).kill,
  },
  task: { summary: 'gives work to an agent', touches: 'nothing', subject: 'name', initial: 'allow' },
  task_output: {
    summary: 'shows the result of an agent',
    touches: 'nothing',
    subject: ofConversation,
    initial: 'allow',
    with: 'task',
  },
  task_stop: {
    summary: 'stops a background agent',
    touches: 'nothing',
    subject: ofConversation,
    initial: 'allow',
    with: 'task',
  },
  todo: {
    summary: 'keeps a list of steps',
    touches: 'nothing',
    subject: ofConversation,
    initial: 'allow',
    load: async (): Promise<ToolKind> => (await import('./todo.ts')).todo,
  },
  webfetch: {
    summary: 'fetches a page',
    touches: 'reads',
    subject: 'host',
    initial: 'ask',
    load: async (): Promise<SubjectKind> => (await import('./webfetch.ts')).webfetch,
  },
  write: {
    summary: 'writes a whole file',
    touches: 'writes',
    subject: 'path',
    initial: 'allow',
    load: async (): Promise<SubjectKind> => (await import('./edit-and-write.ts')).write,
  },
} as const satisfies { readonly [name: string]: ToolRow }

const ofTheTeam = { none: 'it reaches only the team' } as const

/**
 * The tools for leading a team. Agents with `[collab]` have them, and agents of their team that may start agents,
 * whatever `tools` names. Settings that select tools do not apply to them.
 */
const collabRows = {
  spawn_agent: { summary: 'starts an agent of the team', touches: 'nothing', subject: 'name', initial: 'allow' },
  send_input: { summary: 'sends a message to an agent', touches: 'nothing', subject: ofTheTeam, initial: 'allow' },
  wait: { summary: 'waits until agents have ended', touches: 'nothing', subject: ofTheTeam, initial: 'allow' },
  close_agent: { summary: 'ends an agent permanently', touches: 'nothing', subject: ofTheTeam, initial: 'allow' },
} as const satisfies { readonly [name: string]: ToolRow }

/** The tools of a team that works on a list. A member has those of the leader or those of a worker. */
const delegateRows = {
  task_create: {
    summary: 'adds an item to the list of the team',
    touches: 'acts',
    subject: ofTheTeam,
    initial: 'allow',
  },
  task_update: { summary: 'changes an item', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
  task_list: { summary: 'shows the list of the team', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
  task_claim: { summary: 'claims an item to work on it', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
  task_complete: { summary: 'marks an item as done', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
  read_messages: {
    summary: 'reads messages from the other members',
    touches: 'acts',
    subject: ofTheTeam,
    initial: 'allow',
  },
  send_message: { summary: 'sends a message to other members', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
  leave_delegate: { summary: 'ends the work on the list', touches: 'acts', subject: ofTheTeam, initial: 'allow' },
} as const satisfies { readonly [name: string]: ToolRow }

/** It leads to tools of servers whose schemas are not sent. A conversation has it whatever `tools` names. */
const searchRow = {
  tool_search: {
    summary: 'finds tools of servers',
    touches: 'nothing',
    subject: ofConversation,
    initial: 'allow',
  },
} as const satisfies { readonly [name: string]: ToolRow }

export type ToolName = keyof typeof rows
export type CollabToolName = keyof typeof collabRows
/** Any tool of this program. */
export type OwnToolName = ToolName | CollabToolName | keyof typeof delegateRows | keyof typeof searchRow

export const toolNames = Object.keys(rows) as readonly ToolName[]

/** A model has these tools because it is in a team; by the table that defines the team. */
export const teamToolNames = {
  collab: Object.keys(collabRows) as readonly CollabToolName[],
  delegate: Object.keys(delegateRows) as readonly (keyof typeof delegateRows)[],
} as const

const all: { readonly [Name in OwnToolName]: ToolRow } = {
  ...rows,
  ...collabRows,
  ...delegateRows,
  ...searchRow,
}

/** All tools of this program, those of teams too. */
export const ownToolNames = Object.keys(all) as readonly OwnToolName[]

/** The row of a tool; undefined for tools of plug-ins and servers, whose calls need an approval by default. */
export function rowOf(name: OwnToolName): ToolRow
export function rowOf(name: string): ToolRow | undefined
export function rowOf(name: string): ToolRow | undefined {
  return Object.hasOwn(all, name) ? all[name as OwnToolName] : undefined
}

/** What the patterns of a tool's rules are matched against; undefined: nothing. */
export function subjectKind(name: string): WithSubject['subject'] | undefined {
  const subject = rowOf(name)?.subject
  return typeof subject === 'string' ? subject : undefined
}

/** Whether a model has the tool with this name because it is in a team. */
export function isTeamTool(name: string): boolean {
  return Object.hasOwn(collabRows, name) || Object.hasOwn(delegateRows, name)
}

/** Whether the tool with this name leads to tools of servers whose schemas are not sent. */
export function isSearchTool(name: string): boolean {
  return name === 'tool_search' || name === 'tool_call'
}

/** The tool that this one belongs to. */
export function comesWith(name: string): ToolName | undefined {
  return rowOf(name)?.with
}

/** Whether calls of this tool run alone. */
export function isAlone(name: string): boolean {
  return rowOf(name)?.alone === true
}

/** Whether the tool with this name changes files. */
export function isWriter(name: string): boolean {
  return rowOf(name)?.touches === 'writes'
}

/** Whether calls of this tool change nothing outside the conversation, so that plan mode allows them. */
export function isHarmless(name: string): boolean {
  const row = rowOf(name)
  return row !== undefined && row.plans !== true && (row.touches === 'reads' || row.touches === 'nothing')
}
