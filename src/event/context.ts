import type { Clock } from '../base/clock.ts'
import { cutMessage } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { AgentDefinition, AgentExecutor, ModelAgent, ScriptAgent, Tool } from './agent.ts'
import type { Collab } from './collab.ts'
import type { BudgetLimits, Effects, HashedContent, LeaseTerms } from './effects.ts'
import type { EventBody } from './event.ts'
import type { Inbox } from './inbox.ts'
import type { Message, SupportedFiles } from './message.ts'
import type { AskPerson, McpServers } from './mcp.ts'
import type { Batches, BatchPiece } from './batch.ts'
import { createMeter, type Meter } from './meter.ts'
import type { EarlierParts } from './part.ts'
import {
  allRights,
  type LimitedPack,
  type OpenQuestions,
  type Permission,
  type Protection,
  type Rights,
  type ToolFilter,
  type ToolRule,
} from './permission.ts'
import type { Place, Segment } from './place.ts'
import type { PluginFunction, PluginTool } from './plugin-tool.ts'
import type { Prompt } from './prompt.ts'
import type { Overlay } from './overlay.ts'
import { narrowSandbox, type SandboxRights, strictestSandbox } from './sandbox-rights.ts'
import type { RunSources } from './sources.ts'

/** An agent further up the call chain; used to detect cycles and to enforce the depth limit. */
export interface Ancestor {
  readonly name: string
  readonly file: string
  /** Hash of the arguments of its call. */
  readonly call: string
}

/** Folders against which names and paths are resolved. Absolute. */
export interface RunFolders {
  /** Links resolved. */
  readonly workspace: string
  /** Why nothing may be written below the workspace; undefined: writing is allowed. */
  readonly closed?: string | undefined
  /**
   * In a work tree: the folders that its workspace stands for, from the nearest one to the workspace of the run, which
   * is the base for naming files of the user. Omitted: not a work tree.
   */
  readonly standsFor?: readonly [string, ...string[]]
  /** Where work trees of this run are created; omitted: nowhere. */
  readonly worktrees?: string
  /** Where the run was started. */
  readonly cwd: string
  /** Folders that contain packs as `<namespace>/<name>`, in order of precedence. */
  readonly packRoots: readonly string[]
  /** Refuses names that shadow others until they are trusted; undefined: nothing that is found by name is run. */
  readonly guard?: { readonly workspace: string; readonly trustFile: string }
  /** `~/.aipack-base`; undefined: it does not exist. */
  readonly aipackBase?: string
  /** Where this installation stores config, packs, runs and state; omitted: nowhere. */
  readonly ownFolders?: readonly string[]
  /** Built-in agents, the pack `baton@core`; undefined: none. */
  readonly builtInDir?: string
}

/** The run of one script agent, as its scripts see it in `CTX`. */
interface AgentRunFacts {
  readonly runUid: string
  /** Counts the runs of script agents within this run, from 1. */
  readonly runNum: number
  /** Set only if another script agent runs this one. */
  readonly parentRunUid?: string
  /** Position of the current input, from 1; only in tasks. */
  readonly taskNum?: number
}

/** The state of a part of a run, as plain data that could be sent to another process. */
export interface RunScope {
  readonly runId: string
  /** The version of the product. */
  readonly version: string
  /** Where in the run this is. */
  readonly at: Place
  readonly folders: RunFolders
  readonly rights: Rights
  /** The agent, or one of its callers, belongs to a pack that was installed from an archive, git or a URL. */
  readonly isInstalled: boolean
  readonly ancestors: readonly Ancestor[]
  /** The base options of every script agent: the layers below its own. */
  readonly options: JsonObject
  /** `options` for agents that are run by agents: config files and `-c`. */
  readonly configOptions: JsonObject
  /** How often the target of the run was rerun. Children start from 0. */
  readonly redoCount: number
  /**
   * Dry run. `req`: models are not called; `res`: they are, but Output is skipped. `changes`: everything is done, but
   * files are not changed. Children inherit it.
   */
  readonly dry?: 'req' | 'res' | 'changes'
  /** Files that are accepted by the model that called a tool; omitted: no model did. */
  readonly taken?: SupportedFiles
  /** Globs relative to the workspace: `[changes] allow` of the user. */
  readonly openedChanges?: readonly string[]
  /** Default time limit of agents, in milliseconds; omitted: none. */
  readonly agentMs?: number
  /** A run of an older version: `legacyDefaultRounds` is the default, and reaching a limit of rounds is no failure. */
  readonly hasFormerRounds?: true
  /** Others can do without this work, so a host that fails is not waited for as long as otherwise. */
  readonly isSpare?: true
  /** When conversations are made shorter, see agent/context-room.ts. */
  readonly compactAt?: number | false
  /** Options of built-in modes by mode id, for agents without their own. */
  readonly modeOptions?: { readonly [mode: string]: JsonObject }
  /** The agent run that this is part of; undefined outside script agents. */
  readonly facts?: AgentRunFacts
}

/** The initial scope of a run: at its root, with all rights and no options; `given` overrides these. */
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

/** Texts stored with a run, by the SHA-256 of their UTF-8 bytes. */
export interface TextStore {
  /** @throws BatonError RUN_TOO_LARGE, JOURNAL_FAILED */
  readonly keep: (text: string) => void
  /**
   * Stores a large content in slices, ahead of the file change that needs it. A content that cannot be stored this way,
   * or does not match its hash, is left to the change. Rejects like `keep` throws, and with the reason of the signal.
   */
  readonly keepAhead: (content: HashedContent, signal: AbortSignal) => Promise<void>
  /** Undefined if it is not stored, or damaged. */
  readonly find: (hash: string) => string | undefined
}

/** The conversation whose model calls a tool, as seen by the tool. */
interface CallingConversation {
  /** All messages so far; the last one is the answer that calls the tool. */
  readonly messages: () => readonly Message[]
  /** The model that is tried first; omitted: the default model. */
  readonly model?: string
}

/** Private files of a run, next to its record. Readable by its user only. */
interface OwnFiles {
  /** Absolute; created when the first file is written. */
  readonly folder: string
  /** Replaces secrets by their names, because no file may contain them. */
  readonly mask: (text: string) => string
  readonly unmask: (text: string) => string
}

/** The role of a member in a team that works on a list. */
interface TeamSeat {
  readonly tools: readonly Tool[]
  /** For the leader only, which has no other tools. */
  readonly inbox?: Inbox
}

/** The gate for everything that has side effects or reads from outside. */
export interface Gate {
  readonly effects: Effects
}

/** Tells what is allowed, for filters, guards and previews; only the gate acts on it. */
export interface Access {
  readonly permission: Permission
}

/** What narrower rights are made of. */
export interface NarrowPorts extends Gate, Access {
  /** Creates a permission for other rights. */
  readonly permissionOf: (rights: Rights) => Permission
}

/** Sends events; use `emit`. */
export interface Events {
  readonly events: (at: Place, event: EventBody) => void
}

/** What is around a run: time, its environment and its end. */
export interface Surroundings {
  readonly now: () => Date
  /** For waits and durations; a replay does not wait. */
  readonly clock: Pick<Clock, 'sleep' | 'startStopwatch'>
  readonly signal: AbortSignal
  /** The base environment for commands of scripts; may contain secrets. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Limits and counts what model calls cost. */
export interface Spending {
  /** Limits the total cost of model calls at and below a place. */
  readonly limitCost: (at: Place, limits: BudgetLimits) => void
  /**
   * Leases a part of the surrounding budget to a place and everything below it, until the returned function is called.
   */
  readonly leaseCost: (at: Place, terms: LeaseTerms) => () => void
  readonly meter: Meter
}

/** No limits, and a meter of its own. */
export function unlimited(): Spending {
  return { limitCost: () => {}, leaseCost: () => () => {}, meter: createMeter() }
}

/** A prompt of a chat that has ended, with its outputs. */
export interface EndedPrompt {
  readonly prompt: Prompt
  /** The messages after it that no request has delivered: with them the conversation goes on, in whichever process. */
  readonly rest: readonly Message[]
}

/** What a run keeps beside its record. */
export interface RunStore {
  /** The files that the run executes, and those that its models changed. */
  readonly sources: RunSources
  /** Undefined: this run is not recorded on disk. */
  readonly texts?: TextStore
  /** Undefined: this run is not recorded on disk. */
  readonly ownFiles?: OwnFiles
  /**
   * Replaces folders of this machine, and secrets, by tokens, so that a text is the same wherever it is replayed.
   * Omitted: texts are unchanged.
   */
  readonly portable?: (text: string) => string
  /** Logs what is read; undefined: not needed. */
  readonly reads?: ReadLog
  /** The planned changes of a run that changes no files; undefined: changes are made. */
  readonly planned?: Overlay
  /** Parts finished in earlier runs of a watch session; undefined: none can be reused. */
  readonly earlier?: EarlierParts
  /** Records a prompt of a chat that has ended. Omitted: nothing reads it later. */
  readonly recordPrompt?: (at: Place, ended: EndedPrompt) => void
}

/** Asks the user. */
export interface Approver {
  /** The run is only planned: what would be asked, or is not there on this machine, is only reported. */
  readonly isPlan?: true
  /** Omitted: no questions are asked. */
  readonly questions?: OpenQuestions
  /** Pauses the time limits of the surrounding agents while it asks; omitted: there are no time limits. */
  readonly asking?: <T>(ask: () => Promise<T>) => Promise<T>
  /** Puts questions of a server to the user while it works on a call; omitted: nobody can be asked. */
  readonly askPerson?: AskPerson
}

/** Sends model calls of several pieces of work together. */
interface Batching {
  /** Omitted: each call is made at once. */
  readonly batches?: Batches
  /** The piece that this is part of; omitted: its calls are made at once. */
  readonly piece?: BatchPiece | undefined
}

/** Runs agents, and finds those that a model may start. */
export interface Agents {
  readonly agents: AgentExecutor
  /** The agents that a model may start by name; omitted: none. Agents of a prompt file apply to its own run only. */
  readonly definitions?: () => Promise<ReadonlyMap<string, AgentDefinition>>
  /**
   * Calls a model on behalf of a server, at the place of the context: takes the parameters of `sampling/createMessage`
   * and returns its result. Omitted: no model is called.
   */
  readonly sample?: (params: JsonObject, context: RunContext) => Promise<JsonObject>
  /**
   * Opens the tools, the mode and the team that the options of a script agent give to its model; provided by team/.
   * Omitted: no model is called.
   */
  readonly equip?: (
    options: JsonObject,
    agent: Pick<ScriptAgent, 'name' | 'file'>,
    context: RunContext,
  ) => Promise<EquippedAgent>
}

/** What the options of a script agent give to its model. */
export interface EquippedAgent {
  readonly equipped: Pick<ModelAgent, 'tools' | 'inbox' | 'mode' | 'maxRounds'>
  /** Of its conversation; includes the team that its model leads. */
  readonly context: RunContext
}

/** MCP servers, and what plug-ins add. */
export interface Servers {
  /** Configured MCP servers; omitted: none. */
  readonly mcp?: McpServers
  /** Tools of plug-ins; omitted: none. */
  readonly broughtTools?: readonly PluginTool[]
  /** Functions that plug-ins add to programs of models; omitted: none. */
  readonly programFunctions?: readonly PluginFunction[]
  /** In a resumed or replayed run: whether the version that recorded it had a tool of this name. */
  readonly isRecordedTool?: (name: string) => boolean
}

/** The conversation that a part of a run belongs to; omitted fields: there is none. */
interface Caller {
  readonly conversation?: CallingConversation
  /** The id of the tool call in events. */
  readonly callId?: string
  readonly collab?: Collab | undefined
  /** The role of conversations in a team that works on a list. */
  readonly seat?: TeamSeat | undefined
}

/**
 * All ports of a run. A function names the ones that it uses, so that it can be called without the others: undo and
 * planning have no others.
 */
export interface RunServices
  extends NarrowPorts, Events, Surroundings, Spending, RunStore, Approver, Batching, Agents, Servers, Caller {}

/** The context that is passed down through a run. A child's is a spread of its parent's; there are no globals. */
export interface RunContext {
  readonly scope: RunScope
  readonly services: RunServices
}

/** The part of a context that a function uses: names of the scope, and ports. */
export interface ContextWith<Names extends keyof RunScope, Ports> {
  readonly scope: Pick<RunScope, Names>
  readonly services: Ports
}

/** What `emit` takes of a context. */
export type Sender = ContextWith<'at', Events>

export function withScope<Context extends { readonly scope: object }>(
  context: Context,
  scope: Partial<Context['scope']>,
): Context {
  return { ...context, scope: { ...context.scope, ...scope } }
}

export function withServices<Context extends { readonly services: object }>(
  context: Context,
  services: Partial<Context['services']>,
): Context {
  return { ...context, services: { ...context.services, ...services } }
}

/** The same context one or more segments further down. Events sent through it have the longer place. */
export function below<Context extends { readonly scope: Pick<RunScope, 'at'> }>(
  context: Context,
  ...segments: readonly Segment[]
): Context {
  return { ...context, scope: { ...context.scope, at: [...context.scope.at, ...segments] } }
}

export function emit({ scope, services }: Sender, event: EventBody): void {
  services.events(scope.at, event.type === 'warning' ? { ...event, message: cutMessage(event.message) } : event)
}

/** Keys of what runs have sent once. All parts of a run share their sources. */
const sentOnce = new WeakMap<RunSources, Set<string>>()

/** The same, but only the first time that the run sends an event with this key. */
export function emitOnce(
  context: Sender & { readonly services: Pick<RunStore, 'sources'> },
  key: string,
  event: EventBody,
): void {
  const { sources } = context.services
  const sent = sentOnce.get(sources) ?? new Set()
  sentOnce.set(sources, sent)
  if (sent.has(key)) return
  sent.add(key)
  emit(context, event)
}

/**
 * Runs the work of an agent at the place of the context with a reserved part of the surrounding budget. What it does
 * not spend is returned.
 */
export async function withLease<T>(context: RunContext, terms: LeaseTerms, work: () => Promise<T>): Promise<T> {
  const end = context.services.leaseCost(context.scope.at, terms)
  try {
    return await work()
  } finally {
    end()
  }
}

/** Restrictions on an agent and everything it runs. */
export interface Limits {
  /** False: file changes of answers are not applied; true has no effect. */
  readonly write?: boolean
  /** True: file changes need approval. */
  readonly asks?: boolean
  /** Which tools may still be offered to models. */
  readonly tools?: ToolFilter
  readonly rules?: readonly ToolRule[]
  /** The pack whose capabilities apply from here on. */
  readonly pack?: LimitedPack
  readonly protect?: Protection
  /** What programs chosen by models may access from here on. */
  readonly sandbox?: Partial<SandboxRights>
}

/** The only way to restrict rights. Restrictions accumulate. */
export function narrow<Context extends ContextWith<'rights', NarrowPorts>>(
  context: Context,
  { write = true, asks = false, tools, rules, pack, protect, sandbox }: Limits,
): Context {
  const { rights: before } = context.scope
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
  const narrowed = { ...context, scope: { ...context.scope, rights } }
  if (pack === undefined && protect === undefined && rules === undefined) return narrowed
  const { effects, permissionOf } = context.services
  const permission = permissionOf(rights)
  return { ...narrowed, services: { ...context.services, permission, effects: effects.under(permission) } }
}
