import type { ErrorCode } from '../base/error.ts'
import { defined, type Json } from '../base/json.ts'
import type { Place } from './place.ts'
import type { SandboxRights } from './sandbox-rights.ts'

/** An action of a script or a model that needs permission. `about`: what only the user is told. */
export type Action = NamedAction & { readonly about?: ActionAbout }

/** What a question also says. It does not identify the action: an answer counts whatever it is. */
export interface ActionAbout {
  /** Where the path of the call leads through a link: absolute. */
  readonly target?: string
  /** The folder a command line runs in, relative to the workspace: `.`, or absolute if it is elsewhere. */
  readonly folder?: string
  readonly review?: ReviewPlace
}

/** Where a change stands among those of an answer. */
export type ReviewPlace = {
  /** From 1. */
  readonly number: number
  readonly count: number
  /** What the answer says besides its changes. */
  readonly explanation?: string
}

/** The action as questions about it are recorded and found again: without what does not identify it. */
export function withoutDetails(action: Action): NamedAction {
  const { about: _, ...named } = action
  if (named.kind !== 'tool') return named
  const { version: __, ...request } = named
  return request
}

type NamedAction =
  /** `path`: absolute, with links resolved. `named`: the path as requested, absolute, for messages. */
  | {
      readonly kind: 'read' | 'write' | 'delete'
      readonly path: string
      readonly named: string
      /** The path relative to the workspace, for messages where the workspace is unknown. Omitted: `named`. */
      readonly shown?: string
      /** What would change, as a unified diff, for the approver. */
      readonly diff?: string
    }
  /** A program by name; `caller` is the function that starts it, for messages. */
  | { readonly kind: 'command'; readonly program: string; readonly caller: string }
  | {
      readonly kind: 'connect'
      readonly url: string
      readonly caller: string
      /** The host turned out to be this machine or in a private network, so it must be listed explicitly. */
      readonly isPrivate?: true
    }
  /** `label` is the display name of the model, for example `openai::gpt-5-mini`. */
  | { readonly kind: 'model'; readonly model: string; readonly label: string }
  /** A request to an MCP server: `what` is the server's name of a tool. `caller` is for messages. */
  | { readonly kind: 'mcp'; readonly server: string; readonly what: string; readonly caller: string }
  /** A tool call of a model; `input` is shown to the approver. What the tool then does needs its own permission. */
  | {
      readonly kind: 'tool'
      readonly tool: string
      readonly input: Json
      /** The subject that patterns of rules are matched against; omitted: rules with a pattern do not match. */
      readonly subject?: ToolSubject
      /** What would change, as a unified diff, for the approver. */
      readonly diff?: string
      /**
       * Of a tool of a server: a hash of what the server says about it. A grant is for this version. It is no part of
       * the recorded question.
       */
      readonly version?: string
    }

/** The subject of a tool call, which patterns of `[permission]` match. */
export type ToolSubject =
  /** `path`: absolute, with links resolved. */
  | { readonly kind: 'path'; readonly path: string }
  /** `port`: omitted if it is the default port. */
  | { readonly kind: 'host'; readonly host: string; readonly port?: number }
  /**
   * A shell command line, as parsed by tool/command-line.ts: each of its commands is checked separately. `doubt`: why
   * no pattern can allow it; `unread`: not all of its commands are known.
   */
  | {
      readonly kind: 'command'
      readonly line: string
      readonly commands: readonly ReadCommand[]
      readonly doubt?: string
      readonly unread?: true
    }
  /** A tool of a server, or an agent. */
  | { readonly kind: 'name'; readonly name: string }
  /**
   * Any call: matches all patterns except those that deny. If this is denied for a tool, the tool need not be offered.
   */
  | { readonly kind: 'any' }

/**
 * A simple command of a line. Patterns that allow are matched against the first text, all others against every text.
 */
export type ReadCommand = {
  readonly texts: readonly [CommandText, ...CommandText[]]
}

/** Words separated by single spaces, without unnecessary quotes. `isOpen`: what follows is unknown. */
export type CommandText = {
  readonly text: string
  readonly isOpen?: true
}

/** From the most permissive to the strictest. */
export const toolEffects = ['allow', 'ask', 'deny'] as const

/** A rule of `[permission]`: the effect for a tool, or for some of its calls. */
export interface ToolRule {
  /** The name of a tool; `*` matches any characters. */
  readonly tool: string
  /** Omitted: every call. */
  readonly pattern?: string
  readonly effect: (typeof toolEffects)[number]
  /** Where it is defined: `baton.toml:3`, `default`. */
  readonly origin: string
  /**
   * Its source, if that is a file of an untrusted folder: the rules of such a source are evaluated as a group, and
   * apply only if they are stricter than the rules before them.
   */
  readonly tightens?: string
  /** A default rule for a well-known place that holds keys, which also matches its name in another case. */
  readonly isKeyPlace?: true
}

/** Tools as named in settings: names, and patterns in which `*` matches any characters. */
export interface ToolFilter {
  /** Omitted: all. */
  readonly tools?: readonly string[] | undefined
  readonly disallowed_tools?: readonly string[] | undefined
}

export type Verdict =
  | { readonly kind: 'allow' }
  /** `rule`: the rule with a pattern that asks, as text; omitted: it is asked about in general. */
  | { readonly kind: 'ask'; readonly rule?: string }
  /** The last three fields become the thrown error. */
  | { readonly kind: 'deny'; readonly reason: string; readonly code: ErrorCode; readonly hint?: string }

/** The content that will be written to a file, or its beginning; or the path (absolute) that a new link leads to. */
export type NewFileContent = () => string | Uint8Array | { readonly linkTo: string }

/** Decides before anything happens. Created from `Rights` in tool/permission.ts. `content`: of a file to be written. */
export interface Permission {
  check(action: Action, content?: NewFileContent): Verdict
}

/**
 * The user's decision. `always`: allow this and what the grant covers until the run ends. `remark`: deny, with a
 * reason or what to do differently. `expired`: no answer for this long. `hunks`: only these of a change.
 */
export type Decision =
  | 'allow'
  | 'deny'
  | { readonly always: Grant }
  | { readonly remark: string }
  | { readonly expired: string }
  | PartialDecision

/** Some hunks of a change are made, perhaps otherwise than it says; the others are rejected. */
export interface PartialDecision {
  /** Numbers of hunks, from 1, in the order of the diff; empty: nothing of the change is made. */
  readonly hunks: readonly number[]
  readonly remarks?: readonly HunkRemark[]
  /** Of the hunks that are made, those that the user has edited. */
  readonly edits?: readonly HunkEdit[]
}

/** A hunk that is made otherwise. `text`: what takes the place of its lines, those without a mark included. */
export interface HunkEdit {
  readonly hunk: number
  readonly text: string
}

/** Why something of a change is rejected, or what to do differently. `hunk`: omitted if it is about the whole change. */
export interface HunkRemark {
  readonly hunk?: number
  readonly text: string
}

/** Calls that need no further approval: those like one call, or a range that was shown to the user. */
export type Grant = CallGrant | RangeGrant

/**
 * Tool calls with the same subject, or all calls of the tool if there is none. `folder`: only command lines that run
 * there.
 */
export interface CallGrant {
  readonly tool: string
  readonly subject?: ToolSubject
  readonly folder?: string
  /** Of a tool of a server: only as it was then. */
  readonly version?: string
}

/** The text of a command line that is a single command of which everything is known; undefined for other subjects. */
export function onlyCommand(subject: ToolSubject | undefined): string | undefined {
  if (subject?.kind !== 'command' || subject.doubt !== undefined || subject.unread === true) return undefined
  const [command, ...others] = subject.commands
  const [whole] = command?.texts ?? []
  return others.length > 0 || whole?.isOpen === true ? undefined : whole?.text
}

/**
 * A range covers only what is asked about in general, or by the `rule` that asked when it was given: a rule that names
 * something more special asks again, and what is denied stays denied.
 */
export type RangeGrant = {
  readonly rule?: string
} &
  /** Command lines of one command that begins with these words, in this folder, and of which everything is known. */
  (
    | { readonly range: 'commands'; readonly tool: string; readonly words: string; readonly folder?: string }
    /** Changes of this file by these tools and by answers; `path`: absolute, with links resolved. */
    | { readonly range: 'file'; readonly tools: readonly string[]; readonly path: string }
    /** Changes of any file by these tools and by answers, but not that a file is deleted. */
    | { readonly range: 'edits'; readonly tools: readonly string[] }
  )

/** The grant that `always` gives for a call. */
export function grantFor({ tool, subject, version, about }: Extract<Action, { readonly kind: 'tool' }>): CallGrant {
  return { tool, ...defined({ subject, version, folder: about?.folder }) }
}

export interface Question {
  /** Its number in the run, by which it can be answered from another process. */
  readonly id: string
  /** The place of the action. */
  readonly at: Place
  /** An earlier process already asked it, and nobody has answered. */
  readonly isReopened: boolean
  /** When it expires, in milliseconds since 1970. */
  readonly until?: number
  readonly signal: AbortSignal
  /** The rule with a pattern that asks, as in a `Verdict`. */
  readonly rule?: string
  /** Whether a grant given since it was asked covers it. */
  readonly isGranted: () => boolean
}

/**
 * Obtains the user's decision. Rejects with a suspension (`BatonError` WAITING_FOR_APPROVAL) if the answer is deferred.
 */
export type Approver = (action: Action, question: Question) => Promise<Decision>

/** The decision of a program on behalf of the user, for one call. */
export type ProgramDecision = Extract<Decision, 'allow' | 'deny' | { readonly remark: string }>

export interface OpenQuestions {
  /** Answers the question about a call, by the place of the call. No-op if there is none. */
  readonly answer: (at: Place, decision: ProgramDecision) => void
  /**
   * Withdraws current and later questions at a place, because the work that asks was stopped. They stay open in the
   * record. Returns a function to call when that work has ended.
   */
  readonly withdraw: (at: Place) => () => void
}

/** The user's approval, which satisfies the verdict `ask`. */
export interface Permit {
  readonly action: Action
  /** Only these hunks of the change are permitted. */
  readonly part?: PartialDecision
}

/** What a pack may do, as in its `[capabilities]`. */
export interface Capabilities {
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
  readonly env: readonly string[]
  readonly models: readonly string[]
  /** Names of MCP servers. */
  readonly mcp: readonly string[]
}

/** A pack whose agents are limited to its granted capabilities. */
export interface LimitedPack {
  /** For messages. */
  readonly identity: string
  readonly granted: Capabilities
  /** Its own folders that it may always read. Absolute. */
  readonly ownFolders: readonly string[]
  /** Its own folders that it may always change. Absolute. */
  readonly keptFolders: readonly string[]
  /** Absolute paths of files that the run executes. */
  readonly executed: readonly string[]
  /**
   * Globs relative to the workspace for files that the user opened, although other programs execute them or they
   * control what is executed.
   */
  readonly allow: readonly string[]
}

/** The holder of these rights may not change protected files, which are listed in tool/protected/places.ts. */
export interface Protection {
  /** Absolute paths of additional protected files and folders: what the run executes. */
  readonly paths: readonly string[]
  /** Answers of models, or scripts that are limited to the granted capabilities of their pack. */
  readonly kind: 'answer' | 'pack'
  /** Globs relative to the workspace that unprotect files that are protected only because of their kind. */
  readonly allow: readonly string[]
  /**
   * For packs: paths relative to the workspace that the user agreed to by name. They unprotect files that other
   * programs run automatically.
   */
  readonly named?: readonly string[]
  /** The holder, for messages: `a model`. */
  readonly whom: string
}

/** What an agent may do, as plain data. Children have at most the rights of their parent: see `narrow`. */
export interface Rights {
  /** Whether file changes of answers are applied; does not affect scripts. */
  readonly write: boolean
  /** File changes of answers need approval. */
  readonly asks?: true
  /** A tool may be offered to models if it passes all of these filters; omitted: all tools. */
  readonly tools?: readonly ToolFilter[]
  /**
   * Rules for tool calls, in ascending precedence: the last matching rule of a list applies. Of several lists, the
   * strictest verdict applies; a list without a matching rule has no verdict.
   */
  readonly rules: readonly (readonly ToolRule[])[]
  /** The packs whose capabilities apply, outermost first; empty: programs, hosts and models are not limited. */
  readonly packs: readonly LimitedPack[]
  readonly protections: readonly Protection[]
  /** What programs chosen by a model may access; omitted: read-only, without network. */
  readonly sandbox?: SandboxRights
}

export const allRights: Rights = { write: true, rules: [], packs: [], protections: [] }

/** Whether programs get this environment variable. */
export function passesVariable({ packs }: Rights, variable: string): boolean {
  return packs.every(({ granted }) => granted.env.includes(variable))
}

/** The action as a phrase for messages, for example `writing a.txt`. */
export function actionText(action: Action): string {
  switch (action.kind) {
    case 'read':
      return `reading ${action.shown ?? action.named}`
    case 'write':
      return `writing ${action.shown ?? action.named}`
    case 'delete':
      return `deleting ${action.shown ?? action.named}`
    case 'command':
      return `running ${action.program}`
    case 'connect':
      return `connecting to ${action.url}`
    case 'model':
      return `calling ${action.label}`
    case 'mcp':
      return `using ${action.what} of the MCP server ${action.server}`
    case 'tool':
      return `using ${action.tool}`
  }
}
