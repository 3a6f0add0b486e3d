import type { JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { AgentDefinition, AgentExecutor, Tool } from './agent.ts'
import type { Collab } from './collab.ts'
import type { BudgetLimits, Effects, HashedContent, LeaseTerms } from './effects.ts'
import type { EventBody } from './event.ts'
import type { Inbox } from './inbox.ts'
import type { Message, TakenFiles } from './message.ts'
import type { AskPerson, McpServers } from './mcp.ts'
import type { Meter } from './meter.ts'
import type { EarlierParts } from './part.ts'
import {
  allRights,
  type HeldPack,
  type OpenQuestions,
  type Permission,
  type Protection,
  type Rights,
  type ToolFilter,
  type ToolRule,
} from './permission.ts'
import type { Place, Segment } from './place.ts'
import type { PluginFunction, PluginTool } from './plugin-tool.ts'
import type { Overlay } from './overlay.ts'
import { narrowSandbox, type SandboxRights, strictestSandbox } from './sandbox-rights.ts'
import type { RunSources } from './sources.ts'

/** One agent that is running further up: cycles and the depth limit are found with it. */
export interface Ancestor {
  readonly name: string
  readonly file: string
  /** Hash of what it was called with. */
  readonly call: string
}

/** Folders that names and paths can mean. Absolute. */
export interface RunFolders {
  /** Links resolved. */
  readonly workspace: string
  /** Why nothing may be written below the workspace; undefined: it may. */
  readonly closed?: string | undefined
  /**
   * Of a work tree: the folders that its workspace stands for, from the next one to the workspace of the run, by which files of
   * the user are named; left out: it is that workspace itself.
   */
  readonly standsFor?: readonly [string, ...string[]]
  /** Where work trees of this run are made; left out: nowhere. */
  readonly worktrees?: string
  /** Where the run was started. */
  readonly cwd: string
  /** Folders that hold packs as `<namespace>/<name>`, best first. */
  readonly packRoots: readonly string[]
  /** What its names are held to; undefined: nothing that is found by a name is run. */
  readonly guard?: { readonly workspace: string; readonly trustFile: string }
  /** `~/.aipack-base`; undefined: there is none. */
  readonly aipackBase?: string
  /** Where this installation keeps config, packs, runs and what it remembers; left out: nowhere. */
  readonly ownFolders?: readonly string[]
  /** Agents that come with the product: the pack `baton@core`; undefined: there are none. */
  readonly builtInDir?: string
}

/** The run of one script agent, as its scripts see it in `CTX`. */
interface AgentRunFacts {
  readonly runUid: string
  /** Counts the runs of script agents within this run, from 1. */
  readonly runNum: number
  /** Only when another script agent runs this one. */
  readonly parentRunUid?: string
  /** Position of the input that is worked on, from 1; only in tasks. */
  readonly taskNum?: number
}

/** What a piece of a run knows: plain data that could be sent to another process. */
export interface RunScope {
  readonly runId: string
  /** The version of the product. */
  readonly version: string
  /** Where in the run this is. */
  readonly at: Place
  readonly folders: RunFolders
  readonly rights: Rights
  /** The agent, or one that runs it, is of a pack that came from an archive, git or a URL. */
  readonly isInstalled: boolean
  readonly ancestors: readonly Ancestor[]
  /** Options every script agent starts from: the layers below its own. */
  readonly options: JsonObject
  /** What `options` is for agents that agents run: config files and `-c`. */
  readonly configOptions: JsonObject
  /** How often the target of the run has been run again. Children start from 0. */
  readonly redoCount: number
  /** `req`: no model is called; `res`: it is called, and Output is left out. `changes`: all is done, and no file is changed. Children inherit it. */
  readonly dry?: 'req' | 'res' | 'changes'
  /** Files that the model takes which has called a tool; left out: nobody has. */
  readonly taken?: TakenFiles
  /** Globs from the workspace: `[changes] allow` of the user. */
  readonly openedChanges?: readonly string[]
  /** How long an agent may take that does not say it itself, in milliseconds; left out: as long as it likes. */
  readonly agentMs?: number
  /** Options of built-in modes, by the id of the mode: for agents that bring none of their own. */
  readonly modeOptions?: { readonly [mode: string]: JsonObject }
  /** The agent run that this is part of; undefined outside script agents. */
  readonly facts?: AgentRunFacts
}

/** The scope a run begins with: at its root, with all rights and no options; what is given replaces these. */
export function rootScope(given: Pick<RunScope, 'runId' | 'version' | 'folders'> & Partial<RunScope>): RunScope {
  return {
    at: [],
    rights: allRights,
    isInstalled: false,
    ancestors: [],
    options: {},
    configOptions: {},
    redoCount: 0,
    ...given,
  }
}

/** Texts that are kept with a run, by the SHA-256 of their UTF-8. */
export interface KeptTexts {
  /** @throws BatonError RUN_TOO_LARGE, JOURNAL_FAILED */
  readonly keep: (text: string) => void
  /**
   * Keeps a large content before a change of files does, in slices; one that cannot be kept so, or is not what the hash says, is left to
   * the change. Rejects as `keep` throws, and with the reason of the signal.
   */
  readonly keepAhead: (content: HashedContent, signal: AbortSignal) => Promise<void>
  /** Undefined: it is not kept, or not as it was. */
  readonly find: (hash: string) => string | undefined
}

/** The conversation whose model calls a tool, as that sees it. */
interface CallingConversation {
  /** All messages so far; the last one is the answer that calls. */
  readonly messages: () => readonly Message[]
  /** The model that is asked first; left out: the default one. */
  readonly model?: string
}

/** Files that a run keeps for itself beside its record. Only its user can read them. */
interface OwnFiles {
  /** Absolute; made when the first file is written. */
  readonly folder: string
  /** Puts the names of secrets in their place, which no file holds. */
  readonly mask: (text: string) => string
  readonly unmask: (text: string) => string
}

/** A place in a team that works on a list (R122). */
interface TeamSeat {
  readonly tools: readonly Tool[]
  /** Of the leader, which has no other tools. */
  readonly inbox?: Inbox
}

/** What a piece of a run works with. */
export interface RunServices {
  readonly effects: Effects
  /** Runs any agent. */
  readonly agents: AgentExecutor
  readonly permission: Permission
  /** Makes the permission of other rights. */
  readonly permissionOf: (rights: Rights) => Permission
  /** Limits what model calls at and below a place may cost together. */
  readonly limitCost: (at: Place, limits: BudgetLimits) => void
  /** Lends what is at and below a place a part of the budget around it, until what is returned is called. */
  readonly leaseCost: (at: Place, terms: LeaseTerms) => () => void
  readonly meter: Meter
  /** Where events go; use `emit`. */
  readonly events: (at: Place, event: EventBody) => void
  readonly now: () => Date
  readonly signal: AbortSignal
  /** What commands of scripts start from; may hold secrets. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** It is looked what a run would do, and nothing is run; what this machine lacks is only said. */
  readonly isPlan?: true
  /** Left out: nobody is asked anything. */
  readonly questions?: OpenQuestions
  /** Asks a person while the time of the agents that this is part of stands still; left out: none is limited. */
  readonly asking?: <T>(ask: () => Promise<T>) => Promise<T>
  /** Of a tool that is called; left out: no model calls it. */
  readonly conversation?: CallingConversation
  /** The id of the call of a tool, as events name it; left out: no model calls one. */
  readonly callId?: string
  /** Tools that plug-ins bring; left out: none. */
  readonly broughtTools?: readonly PluginTool[]
  /** Servers that settings name; left out: none. */
  readonly mcp?: McpServers
  /** Asks a person what a server wants to know while it works on a call; left out: nobody can be asked. */
  readonly askPerson?: AskPerson
  /**
   * Asks a model for a server, at the place of the context: takes the parameters of `sampling/createMessage`, and gives what it
   * does. Left out: no model is asked.
   */
  readonly sample?: (params: JsonObject, context: RunContext) => Promise<JsonObject>
  /** Functions that plug-ins add to programs of models; left out: none. */
  readonly programFunctions?: readonly PluginFunction[]
  /** The agents that a model may start by their names; left out: none. Those of a prompt file hold in its own run. */
  readonly definitions?: () => Promise<ReadonlyMap<string, AgentDefinition>>
  /** The team that the conversation is of; left out: none. */
  readonly collab?: Collab | undefined
  /** Notified of what is read; undefined: nobody compares it later. */
  readonly reads?: ReadLog
  /** What the run executes, and what its models changed. */
  readonly sources: RunSources
  /** Writes folders of this machine, and secrets, as tokens: a text is the same wherever it is replayed. Left out: it stays as it is. */
  readonly portable?: (text: string) => string
  /** Undefined: nothing is kept of this run. */
  readonly texts?: KeptTexts
  /** Undefined: nothing is kept of this run. */
  readonly ownFiles?: OwnFiles
  /** What conversations have as a member of a team that works on a list; undefined: they are none. */
  readonly seat?: TeamSeat | undefined
  /** Of a run that changes no file; undefined: changes are made. */
  readonly planned?: Overlay
  /** What earlier runs of a watch session have finished; undefined: everything is done. */
  readonly earlier?: EarlierParts
}

/** What travels down through a run. A child's is a spread of its parent's; nothing reaches for globals. */
export interface RunContext {
  readonly scope: RunScope
  readonly services: RunServices
}

/** The same context with other plain data. */
export function withScope(context: RunContext, scope: Partial<RunScope>): RunContext {
  return { ...context, scope: { ...context.scope, ...scope } }
}

/** The same context with other services. */
export function withServices(context: RunContext, services: Partial<RunServices>): RunContext {
  return { ...context, services: { ...context.services, ...services } }
}

/** The same context one step or more further down. Events sent through it carry the longer place. */
export function below(context: RunContext, ...segments: readonly Segment[]): RunContext {
  return withScope(context, { at: [...context.scope.at, ...segments] })
}

/** Sends an event from this place in the run. */
export function emit({ scope, services }: RunContext, event: EventBody): void {
  services.events(scope.at, event)
}

/**
 * Does what an agent does at the place of the context with a part of the budget around it, which nobody else uses up
 * meanwhile. What is not spent of it goes back.
 */
export async function withLease<T>(context: RunContext, terms: LeaseTerms, work: () => Promise<T>): Promise<T> {
  const end = context.services.leaseCost(context.scope.at, terms)
  try {
    return await work()
  } finally {
    end()
  }
}

/** What an agent gives up for itself and all that it runs. */
export interface Limits {
  /** False: file changes of answers are not applied; true changes nothing. */
  readonly write?: boolean
  /** True: they are shown to a person first. */
  readonly asks?: boolean
  /** Which tools may still be offered to models. */
  readonly tools?: ToolFilter
  /** Rules that calls of tools are held to besides. */
  readonly rules?: readonly ToolRule[]
  /** The pack whose capabilities hold from here on. */
  readonly pack?: HeldPack
  readonly protect?: Protection
  /** What programs that models choose may touch from here on. */
  readonly sandbox?: Partial<SandboxRights>
  /** What model calls at this place and below may cost together. */
  readonly budget?: BudgetLimits
}

/** The one way to give up rights: what was given up before stays given up. */
export function narrow(
  context: RunContext,
  { write = true, asks = false, tools, rules, pack, protect, sandbox, budget }: Limits,
): RunContext {
  const { scope, services } = context
  if (budget !== undefined) services.limitCost(scope.at, budget)
  const { rights: before } = scope
  const rights: Rights = {
    write: before.write && write,
    ...(before.asks === true || asks ? { asks: true } : {}),
    ...(before.tools === undefined && tools === undefined
      ? {}
      : { tools: [...(before.tools ?? []), ...(tools === undefined ? [] : [tools])] }),
    rules: rules === undefined ? before.rules : [...before.rules, rules],
    packs: pack === undefined ? before.packs : [...before.packs, pack],
    protections: protect === undefined ? before.protections : [...before.protections, protect],
    ...(before.sandbox === undefined && sandbox === undefined
      ? {}
      : { sandbox: narrowSandbox(before.sandbox ?? strictestSandbox, sandbox ?? {}) }),
  }
  if (pack === undefined && protect === undefined && rules === undefined) return withScope(context, { rights })
  const permission = services.permissionOf(rights)
  return {
    scope: { ...scope, rights },
    services: { ...services, permission, effects: services.effects.under(permission) },
  }
}
