import type { ErrorCode } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { Place } from './place.ts'
import type { SandboxRights } from './sandbox-rights.ts'

/** Something a script or a model wants to do that has to be allowed. */
export type Action =
  /** `path`: absolute, with links resolved. `named`: as it was asked for, absolute, for messages. */
  | {
      readonly kind: 'read' | 'write' | 'delete'
      readonly path: string
      readonly named: string
      /** The same for messages where the workspace is not known: from the workspace. Left out: `named`. */
      readonly shown?: string
      /** What would change, as a unified diff: for whom is asked. */
      readonly diff?: string
    }
  /** A program by its name; `caller` is the function that starts it, for messages. */
  | { readonly kind: 'command'; readonly program: string; readonly caller: string }
  | {
      readonly kind: 'connect'
      readonly url: string
      readonly caller: string
      /** The host turned out to be this machine or in a private network: it must have been named as it is. */
      readonly isPrivate?: true
    }
  /** `label` is the model as people know it, for example `openai::gpt-5-mini`. */
  | { readonly kind: 'model'; readonly model: string; readonly label: string }
  /** An MCP server is asked for something: `what` is a tool of it, by its own name. `caller` is who asks, for messages. */
  | { readonly kind: 'mcp'; readonly server: string; readonly what: string; readonly caller: string }
  /** A tool that a model calls; `input` is what a person decides on. What the tool then does is asked for besides. */
  | {
      readonly kind: 'tool'
      readonly tool: string
      readonly input: Json
      /** What patterns of rules are held against; left out: rules with a pattern do not match. */
      readonly subject?: ToolSubject
      /** What would change, as a unified diff: for whom is asked. */
      readonly diff?: string
    }

/** What a call of a tool is about, as patterns of `[permission]` name it. */
export type ToolSubject =
  /** `path`: absolute, with links resolved. */
  | { readonly kind: 'path'; readonly path: string }
  /** `port`: left out where it is the usual one. */
  | { readonly kind: 'host'; readonly host: string; readonly port?: number }
  /**
   * A command line for a shell, as tool/command-line.ts reads it: each of its commands is judged by itself. `doubt`: why no
   * pattern allows it; `unread`: not all of its commands are known.
   */
  | {
      readonly kind: 'command'
      readonly line: string
      readonly commands: readonly ReadCommand[]
      readonly doubt?: string
      readonly unread?: true
    }
  /** A tool of a server, an agent. */
  | { readonly kind: 'name'; readonly name: string }
  /** Any call: patterns match it unless they deny. A tool of which this is denied need not be offered. */
  | { readonly kind: 'any' }

/** A simple command of a line. The first text is held against patterns that allow, all against those that do not. */
export type ReadCommand = {
  readonly texts: readonly [CommandText, ...CommandText[]]
}

/** Words with one space between them, without quotes that they do not need. `isOpen`: what comes behind it is not known. */
export type CommandText = {
  readonly text: string
  readonly isOpen?: true
}

/** From the loosest to the strictest. */
export const toolEffects = ['allow', 'ask', 'deny'] as const

/** A rule of `[permission]`: what is done about a tool, or about some of its calls. */
export interface ToolRule {
  /** The name of a tool; `*` in it stands for any characters. */
  readonly tool: string
  /** Left out: every call. */
  readonly pattern?: string
  readonly effect: (typeof toolEffects)[number]
  /** Where it is written: `baton.toml:3`, `default`. */
  readonly origin: string
  /**
   * The source that it came with, a file of a folder that is not trusted: the rules of one such source count together, and
   * only where they are stricter than what the rules before them say.
   */
  readonly tightens?: string
}

/** Tools as settings name them: names, and patterns in which `*` stands for any characters. */
export interface ToolFilter {
  /** Left out: all. */
  readonly tools?: readonly string[] | undefined
  readonly disallowed_tools?: readonly string[] | undefined
}

export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'ask' }
  /** The last three are what the refusal is thrown as. */
  | { readonly kind: 'deny'; readonly reason: string; readonly code: ErrorCode; readonly hint?: string }

/** What a file will hold that is written, or its beginning. */
export type NewFileContent = () => string | Uint8Array

/** Decides before anything happens. Made of `Rights` in tool/permission.ts. `content`: of a file that is written. */
export interface Permission {
  check(action: Action, content?: NewFileContent): Verdict
}

/**
 * What a person says. `always`: this, and what is about the same, until the run has ended. `remark`: not so, and why, or
 * what should be different. `expired`: nobody has said anything for so long.
 */
export type Decision =
  | 'allow'
  | 'deny'
  | { readonly always: Grant }
  | { readonly remark: string }
  | { readonly expired: string }

/** Calls of a tool that need no further question: those with the same subject; without one every call of it. */
export interface Grant {
  readonly tool: string
  readonly subject?: ToolSubject
}

/** What `always` means for a call. */
export function grantFor({ tool, subject }: Extract<Action, { readonly kind: 'tool' }>): Grant {
  return { tool, ...(subject === undefined ? {} : { subject }) }
}

/** A question to a person. */
export interface Question {
  /** Its number in the run, by which it can be answered from elsewhere. */
  readonly id: string
  /** Of what is asked about. */
  readonly at: Place
  /** An older process has put it already, and nobody has answered. */
  readonly isReopened: boolean
  /** Until when an answer counts, in milliseconds since 1970. */
  readonly until?: number
  /** Withdraws the question. */
  readonly signal: AbortSignal
  /** What was allowed since it was put answers it as well. */
  readonly isGranted: () => boolean
}

/** Answers for a person. Rejects with a suspension (`BatonError` WAITING_FOR_APPROVAL) when the answer comes another time. */
export type Approver = (action: Action, question: Question) => Promise<Decision>

/** What a program says for a person, of one call. */
export type SpokenDecision = Extract<Decision, 'allow' | 'deny' | { readonly remark: string }>

/** The questions of a run that stand open. */
export interface OpenQuestions {
  /** Answers the one about a call, by the place of the call; where none is open, nothing happens. */
  readonly answer: (at: Place, decision: SpokenDecision) => void
  /**
   * Takes it back from whoever is asked, now or later: the work that asks was stopped. It stays open in the record. Returns
   * what is to be called when that work has ended.
   */
  readonly withdraw: (at: Place) => () => void
}

/** What a person has allowed: it stands in for a verdict `ask`. */
export interface Permit {
  readonly action: Action
}

/** What a pack may do, in the words of its `[capabilities]`. */
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

/** A pack whose agents are held to what it was granted. */
export interface HeldPack {
  /** For messages. */
  readonly identity: string
  readonly granted: Capabilities
  /** Absolute folders of its own that it may always read. */
  readonly ownFolders: readonly string[]
  /** Absolute folders of its own that it may always change. */
  readonly keptFolders: readonly string[]
  /** Absolute paths of what the run executes. */
  readonly executed: readonly string[]
  /** Globs from the workspace that the user has opened although other programs run what is there, or it decides what is run. */
  readonly allow: readonly string[]
}

/** Who holds these rights does not change what is protected: tool/protected/places.ts has the list. */
export interface Protection {
  /** Absolute paths of files and folders that are protected besides: what the run executes. */
  readonly paths: readonly string[]
  /** Answers of models, or scripts that are held to what their pack was granted. */
  readonly kind: 'answer' | 'pack'
  /** Globs from the workspace that open what is protected only because of what it is. */
  readonly allow: readonly string[]
  /** Of packs: paths from the workspace that were agreed to by their names. They open what other programs run by themselves. */
  readonly named?: readonly string[]
  /** Who is refused, for messages: `a model`. */
  readonly whom: string
}

/** What an agent may do, as plain data. Children have at most the rights of their parent: see `narrow`. */
export interface Rights {
  /** Whether file changes of answers are applied; scripts are not concerned. */
  readonly write: boolean
  /** File changes of answers are shown to a person first. */
  readonly asks?: true
  /** Which tools may be offered to models: those that all of these let through; left out: all. */
  readonly tools?: readonly ToolFilter[]
  /**
   * What calls of tools need, weakest first: the last rule that matches counts. Of several lists the strictest verdict does;
   * one without a rule that matches says nothing.
   */
  readonly rules: readonly (readonly ToolRule[])[]
  /** The packs whose capabilities hold, outermost first; none: programs, hosts and models are not limited. */
  readonly packs: readonly HeldPack[]
  readonly protections: readonly Protection[]
  /** What programs that a model chooses may touch; left out: they only read, and have no network. */
  readonly sandbox?: SandboxRights
}

export const allRights: Rights = { write: true, rules: [], packs: [], protections: [] }

/** Whether programs get this variable of the environment. */
export function passesVariable({ packs }: Rights, variable: string): boolean {
  return packs.every(({ granted }) => granted.env.includes(variable))
}

/** What somebody wants to do, as the beginning of a sentence. */
export function actionText(action: Action): string {
  switch (action.kind) {
    case 'read':
    case 'write':
    case 'delete':
      return `to ${action.kind} ${action.shown ?? action.named}`
    case 'command':
      return `to run ${action.program}`
    case 'connect':
      return `to connect to ${action.url}`
    case 'model':
      return `to ask ${action.label}`
    case 'mcp':
      return `to use ${action.what} of the MCP server ${action.server}`
    case 'tool':
      return `to use ${action.tool}`
  }
}
