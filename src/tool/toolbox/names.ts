/** What is said of a tool without loading it. */
interface ToolFacts {
  /** In a few words, for lists. */
  readonly summary: string
  /** It changes files: it is offered only where `write_mode` lets a model do so. */
  readonly writes?: true
  /** It begins or ends plan mode: it is offered where files may be changed. */
  readonly plans?: true
  /** It changes nothing, so that plan mode allows it. */
  readonly reads?: true
  /** What its calls need when nobody says otherwise. */
  readonly initial: 'allow' | 'ask'
}

/** The tools that models can be given, by name. */
const toolFacts = {
  edit: { summary: 'replaces text in a file', writes: true, initial: 'allow' },
  enter_plan: { summary: 'begins plan mode', plans: true, initial: 'allow' },
  exit_plan: { summary: 'shows the plan, and ends plan mode', plans: true, initial: 'ask' },
  read: { summary: 'reads files, images, PDF documents and folders', reads: true, initial: 'allow' },
  glob: { summary: 'finds files by a pattern of their path', reads: true, initial: 'allow' },
  grep: { summary: 'searches files for a regular expression', reads: true, initial: 'allow' },
  todo: { summary: 'keeps a list of steps', reads: true, initial: 'allow' },
  webfetch: { summary: 'fetches a page', reads: true, initial: 'ask' },
  write: { summary: 'writes a whole file', writes: true, initial: 'allow' },
} as const satisfies { readonly [name: string]: ToolFacts }

export type ToolName = keyof typeof toolFacts

export const toolNames = Object.keys(toolFacts) as readonly ToolName[]

export function factsOf(name: ToolName): ToolFacts {
  return toolFacts[name]
}

/** Names that other versions know: nobody is told that they are a mistake of spelling. */
export const laterTools: readonly string[] = ['bash', 'task', 'spawn_agent', 'send_input', 'wait', 'close_agent']

/** Whether a tool of this name changes files. */
export function isWriter(name: string): boolean {
  return toolNames.some((known) => known === name && factsOf(known).writes === true)
}
