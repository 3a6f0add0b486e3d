import { defined, type Json } from '../base/json.ts'
import { runsAfterChange } from './install-scripts.ts'
import type { Action, ReviewPlace, ToolSubject } from './permission.ts'

/** An action that needs approval, for display and for programs: a tool call, or its equivalent. */
export interface ActionView {
  readonly tool: string
  readonly input: Json
  /** The change to be made, as a unified diff. */
  readonly diff?: string
  /** The commands that were read in a command line, if it is not itself the only one. */
  readonly commands?: readonly string[]
  /** The line has commands that are known only when it runs. */
  readonly unread?: true
  /** Install scripts that the change adds or changes, and files that are run when a package is installed. */
  readonly runs?: readonly string[]
  /** Where the path of the call leads through a link: absolute. */
  readonly target?: string
  /** The folder a command line runs in, from the workspace. */
  readonly folder?: string
  /** How many hunks of the diff can be decided one by one; omitted if there are fewer than two. */
  readonly hunks?: number
  /** Of a change of an answer: which of how many, and what the answer says besides. */
  readonly review?: ReviewPlace
}

/** A question that is waiting for an answer. */
export interface ApprovalView extends ActionView {
  /** Its number in the run, as used by `baton approve`. */
  readonly id: string
  readonly place: string
  /** ISO 8601, UTC: when it was first asked, and until when it can be answered. */
  readonly asked: string
  readonly until?: string
}

/** The displayed form of an action; if it is not a tool call, its kind and its subject. */
export function actionView(action: Action): ActionView {
  switch (action.kind) {
    case 'read':
    case 'write':
    case 'delete': {
      const { kind: tool, shown, named, path, diff, about } = action
      const target = path === named ? undefined : path
      return {
        tool,
        input: { path: shown ?? named },
        ...defined({ diff, target }),
        ...runsOf(path, diff),
        ...about,
        ...countOf(action),
      }
    }
    case 'command':
      return { tool: action.kind, input: { program: action.program } }
    case 'connect':
      return { tool: action.kind, input: { url: action.url } }
    case 'model':
      return { tool: action.kind, input: { model: action.label } }
    case 'mcp':
      return { tool: action.kind, input: { server: action.server, what: action.what } }
    case 'tool': {
      const { tool, input, diff, subject, about } = action
      const runs = subject?.kind === 'path' ? runsOf(subject.path, diff) : {}
      return { tool, input, ...defined({ diff }), ...runs, ...commandsOf(subject), ...about, ...countOf(action) }
    }
  }
}

/** `hunkNumbers` of event/review.ts has the same rule. */
function countOf(action: Action): Pick<ActionView, 'hunks'> {
  const isChange = action.kind === 'write' || (action.kind === 'tool' && action.subject?.kind === 'path')
  const diff = (isChange ? action.diff : undefined) ?? ''
  const isOne = !/^@@ -[^]*^diff /m.test(diff)
  const hunks = (diff.match(/^@@ -/gm) ?? []).length
  return isOne && hunks > 1 ? { hunks } : {}
}

function runsOf(path: string, diff: string | undefined): Pick<ActionView, 'runs'> {
  const runs = diff === undefined ? [] : runsAfterChange(path, diff)
  return runs.length === 0 ? {} : { runs }
}

/** The commands of a line, and those that other commands in it start: `env A=1 rm x` and `rm x`. */
function commandsOf(subject: ToolSubject | undefined): Pick<ActionView, 'commands' | 'unread'> {
  if (subject?.kind !== 'command') return {}
  const { line, commands, unread } = subject
  const all = commands.map(({ texts: [{ text, isOpen }] }) => (isOpen ? `${text.trimEnd()} …` : text))
  const isLine = all.length === 1 && unread === undefined && all.every((text) => bare(text) === bare(line))
  return { ...(isLine ? {} : { commands: all }), ...defined({ unread }) }
}

/** Without quotes and spaces, in which the same command can be written differently. */
function bare(text: string): string {
  return text.replaceAll(/['"\\\s]/g, '')
}
