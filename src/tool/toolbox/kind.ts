import type { FileCall } from '../file-effect.ts'
import type { JsonObject } from '../../base/json.ts'
import type { OnToolProgress, ToolResult } from '../../event/agent.ts'
import type { TextStore, RunContext } from '../../event/context.ts'
import type { Place } from '../../event/place.ts'
import type { Permit, ToolSubject } from '../../event/permission.ts'
import type { FileChange } from '../../event/event.ts'
import type { Message } from '../../event/message.ts'
import type { ShellSession } from '../shell/session.ts'
import type { SeenFile, SeenLog } from './seen-log.ts'

/** What the tools of one conversation share. */
export interface Toolbox {
  /** Absolute; the paths that a model gives are relative to it. */
  readonly baseDir: string
  /** What the model knows about the files on disk. */
  readonly seen: SeenLog
  /** The full texts of truncated outputs. */
  readonly outputs: Outputs
  /** Whether the tool `read` is among the tools. */
  readonly hasRead: boolean
  readonly plan: PlanMode
  readonly shell: ShellSession
  readonly limits: ChangeLimits
  /** The changes made by calls so far. */
  readonly work: WorkLog
  /**
   * In a dry run: the contents of files (absolute, links resolved) before the first planned change; null for no file.
   */
  readonly first: Map<string, string | null>
}

/** Most characters of an output that a model gets at once. */
export const mostCharacters = 50_000

/** The full texts of truncated outputs of one conversation. Models refer to them by short ids. */
export interface Outputs {
  /** Keeps a text: with the run if possible, otherwise in memory. */
  readonly keep: (text: string, texts: TextStore | undefined) => StoredOutput
  /** Registers a text that was kept by this process or an earlier one of the run. */
  readonly know: (kept: StoredOutput) => void
  /** The text for an id; undefined if the id is unknown or the text is no longer kept. */
  readonly find: (id: string, texts: TextStore | undefined) => string | undefined
  /** Whether none was truncated. */
  readonly isEmpty: () => boolean
}

export interface StoredOutput {
  readonly id: string
  /** SHA-256 of the text. */
  readonly hash: string
}

/**
 * When a call runs. `shared`: after all earlier calls that run alone. `alone`: after all earlier calls, and later calls
 * wait for it; `after`: after all earlier calls, but nothing waits for it.
 */
type ToolTurn = 'shared' | 'alone' | 'after'

/** Plan mode: the model may only read and write its plan. In a resumed run it is rebuilt from the recorded calls. */
export interface PlanMode {
  /** The file of the plan (absolute, links resolved); undefined if the mode is off. */
  readonly file: () => string | undefined
  readonly set: (file: string | undefined) => void
  /** Runs a call when it is its turn. */
  readonly inTurn: <T>(turn: ToolTurn, work: () => Promise<T>) => Promise<T>
}

/** Limits of file changes, in addition to the permission. */
export interface ChangeLimits {
  /**
   * Globs from the workspace: files the user has opened for changes although they control what is run, or are run by
   * other programs.
   */
  readonly allow: readonly string[]
  /** Most bytes that one call may write. */
  readonly maxBytes: number
}

/** The file changes of calls, in the order in which the calls ended. It is rebuilt when a run is resumed. */
export interface WorkLog {
  readonly add: (changes: readonly FileChange[], planned?: PlannedChange) => void
  readonly changes: () => readonly FileChange[]
  /** Changes planned in a dry run: one diff per file. */
  readonly diff: () => string
  /** The same, with absolute paths. */
  readonly planned: () => readonly PlannedChange[]
  /** Whether a dry run would have changed a file (absolute, links resolved). */
  readonly hasPlanned: (path: string) => boolean
}

/** A change planned in a dry run. A type alias, because interfaces are not assignable to JSON. */
type PlannedChange = {
  /** Absolute, links resolved. */
  readonly path: string
  /** The diff of everything this conversation would have changed in the file. */
  readonly diff: string
}

/** One permitted call of a tool. Its effects are recorded below `at`; `permit` is for effects that need one. */
export interface ToolCall extends FileCall<RunContext> {
  readonly box: Toolbox
  readonly permit: Permit
  /** Receives progress; omitted if nobody needs it. */
  readonly onProgress?: OnToolProgress
}

/** The result of a tool, and what the model knows from it. Plain JSON, because it is recorded. */
export interface ToolOutput extends Pick<ToolResult, 'text' | 'files' | 'structured' | 'isError'> {
  readonly seen?: readonly SeenFile[]
  /** Files (absolute) that the model was told are gone. */
  readonly gone?: readonly string[]
  /** The file changes it made, with paths from the base folder. */
  readonly changes?: readonly FileChange[]
  /** The change it would have made, in a dry run. */
  readonly planned?: PlannedChange
  /** The file of the plan (absolute, links resolved) if it starts plan mode; false if it ends it. */
  readonly plan?: string | false
  /** The folder of the next command line: absolute, links resolved. */
  readonly directory?: string
  /** The background command it started. */
  readonly job?: string
  /** The full text, if it was truncated. */
  readonly kept?: StoredOutput
}

/** Whether a call, at or above a place, is one of a model itself, and not of a program of it. */
export function isCallOfModel(at: Place): boolean {
  return at[at.findLastIndex(({ kind }) => kind === 'tool') - 1]?.kind === 'turn'
}

/** A tool: how it is described to models, and what it does. */
export interface ToolKind<Input = JsonObject> {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object; `run` only gets input that matches it. */
  readonly parameters: JsonObject
  /** Other spellings of parameters, which calls may use and `parameters` does not show; `run` gets the name there. */
  readonly spellings?: { readonly [spelling: string]: string }
  /** Parameters that `parameters` requires, and that calls may nevertheless leave out: `run` has a default for them. */
  readonly usual?: readonly string[]
  /** JSON Schema of its `structured` result, if known. */
  readonly output?: JsonObject
  /** The MCP server that it belongs to. */
  readonly server?: string
  /** Whether it is of no use yet: see `isIdle` of a tool. */
  readonly isIdle?: (box: Toolbox, said: readonly Message[]) => boolean
  /** It changes nothing, so plan mode allows it; for tools of this program, their row says so. */
  readonly reads?: true
  /**
   * It only calls other tools or runs agents. So the results of its calls are not recorded: a resumed run makes the
   * calls again, and the records below them answer. They also take no turn, so other calls do not wait for them.
   */
  readonly callsOthers?: true
  /**
   * Set for tools that run agents but need a turn: if a model sends and waits in one answer, it means them in this
   * order.
   */
  readonly turn?: ToolTurn
  /** What patterns of `[permission]` are matched against. Its kind is that of the tool's row. */
  readonly subject?: (input: Input, box: Toolbox) => ToolSubject | typeof noSubject
  /** Of a tool of a server: a hash of what the server says about it now, so that a grant ends when that changes. */
  readonly version?: (call: Pick<ToolCall, 'context' | 'at'>) => Promise<string>
  /** What the approval prompt shows of the input and of other facts that matter; default: the input. */
  readonly shown?: (input: Input, box: Toolbox) => JsonObject
  /**
   * The unified diff that an approval prompt shows; or an output if the result of the call does not depend on approval,
   * so nobody is asked. @throws BatonError likewise, if the result is an error
   */
  readonly preview?: (input: Input, call: Omit<ToolCall, 'permit'>) => Promise<string | ToolOutput | undefined>
  /** Called when the conversation has ended; `failure`: the error of its last answer, if it failed. */
  readonly close?: (box: Toolbox, context: RunContext, failure?: unknown) => Promise<void>
  /** @throws BatonError whose message is returned to the model */
  run(input: Input, call: ToolCall): Promise<ToolOutput>
}

/** A call that reaches nothing that a pattern could name. Not `undefined`: an argument that was left out is no reason. */
export const noSubject = Symbol('no subject')

export type SubjectKind = ToolKind & Required<Pick<ToolKind, 'subject'>>

/** Defines a tool whose input has the type that its schema describes. */
export function defineTool<Input>(kind: ToolKind<Input> & Required<Pick<ToolKind<Input>, 'subject'>>): SubjectKind
export function defineTool<Input>(kind: ToolKind<Input>): ToolKind
export function defineTool<Input>(kind: ToolKind<Input>): ToolKind {
  return kind as unknown as ToolKind
}
