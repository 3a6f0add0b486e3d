import type { JsonObject } from '../../base/json.ts'
import type { OnToolProgress, ToolResult } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { Permit, ToolSubject } from '../../event/permission.ts'
import type { FileChange } from '../../event/event.ts'
import type { FileCall } from '../workspace-files.ts'
import type { ShellSession } from '../shell/session.ts'
import type { KeptOutput, Outputs } from './outputs.ts'
import type { SeenFile, SeenLog } from './seen-log.ts'

/** What the tools of one conversation share. */
export interface Toolbox {
  /** Absolute: paths of a model are relative to it. */
  readonly baseDir: string
  /** What the model knows of the files on disk. */
  readonly seen: SeenLog
  /** The whole texts of outputs that were cut. */
  readonly outputs: Outputs
  readonly plan: PlanMode
  readonly shell: ShellSession
  /** What changes of files are held to. */
  readonly limits: ChangeLimits
  /** What the calls so far have changed. */
  readonly work: WorkLog
  /** In a dry run: what files (absolute, links resolved) held before the first call that would have changed them; null for no file. */
  readonly first: Map<string, string | null>
}

/**
 * When a call is done. `shared`: once those before it are that are done alone. `alone`: once all before it are, and those behind it wait
 * for it; `after`: the same, and nobody waits for it.
 */
type ToolTurn = 'shared' | 'alone' | 'after'

/** Whether the model only reads, and writes its plan. It is made anew from what calls recorded when a run is resumed. */
export interface PlanMode {
  /** Where the plan is (absolute, links resolved); undefined: the mode is off. */
  readonly file: () => string | undefined
  readonly set: (file: string | undefined) => void
  /** Does a call when it is its turn. */
  readonly inTurn: <T>(turn: ToolTurn, work: () => Promise<T>) => Promise<T>
}

/** What changes of files are held to, besides the permission. */
export interface ChangeLimits {
  /** Globs from the workspace: the user has opened what is there although it decides what is run, or other programs run it. */
  readonly allow: readonly string[]
  /** What one call may write. */
  readonly maxBytes: number
}

/** The file changes of calls, in the order in which these have ended. It is made anew when a run is resumed. */
export interface WorkLog {
  readonly add: (changes: readonly FileChange[], planned?: PlannedChange) => void
  /** Those that were made. */
  readonly changes: () => readonly FileChange[]
  /** Those that a dry run has not made: one diff of each file. */
  readonly diff: () => string
  /** The same, by absolute path. */
  readonly planned: () => readonly PlannedChange[]
  /** Whether a dry run would have changed a file (absolute, links resolved). */
  readonly hasPlanned: (path: string) => boolean
}

/** A change that a dry run has not made. A type, because only types are JSON. */
type PlannedChange = {
  /** Absolute, links resolved. */
  readonly path: string
  /** All that this conversation would have changed in the file. */
  readonly diff: string
}

/** One call of a tool that is allowed. Its effects are recorded below `at`; `permit` is for those that need one. */
export interface ToolCall extends FileCall {
  readonly box: Toolbox
  readonly permit: Permit
  /** Told how far it is; left out: nobody wants to know. */
  readonly onProgress?: OnToolProgress
}

/** What a tool gives, and what the model knows by it. Plain JSON: it is recorded. */
export interface ToolOutput extends Pick<ToolResult, 'text' | 'files' | 'structured' | 'isError'> {
  readonly seen?: readonly SeenFile[]
  /** Files (absolute) of which the model was told that they are gone. */
  readonly gone?: readonly string[]
  /** What it has changed in files, with paths from the base folder. */
  readonly changes?: readonly FileChange[]
  /** What it would have changed in a run that is dry. */
  readonly planned?: PlannedChange
  /** It begins plan mode: the file of the plan (absolute, links resolved). False: it ends it. */
  readonly plan?: string | false
  /** Where the next command line runs: absolute, links resolved. */
  readonly directory?: string
  /** A command in the background that it has started. */
  readonly job?: string
  /** All of the text, where it was cut. */
  readonly kept?: KeptOutput
}

/** A tool: what a model is told of it, and what it does. */
export interface ToolKind<Input = JsonObject> {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object; `run` is only given what fits it. */
  readonly parameters: JsonObject
  /** JSON Schema of what it gives as `structured`, where that is known. */
  readonly output?: JsonObject
  /** The MCP server that it belongs to. */
  readonly server?: string
  /** It changes nothing, so that plan mode allows it; of tools that Baton brings, names.ts says so. */
  readonly reads?: true
  /**
   * All that it does is to call other tools, or to let agents work. So its calls are not recorded whole: a resumed run makes them again,
   * and what is recorded below them answers. And they take no turn, which the others wait for.
   */
  readonly callsOthers?: true
  /** One that lets agents work takes a turn all the same: a model that sends and waits in one answer means them in this order. */
  readonly turn?: ToolTurn
  /** What patterns of `[permission]` are held against; undefined: there is nothing to hold them against. */
  readonly subject?: (input: Input, box: Toolbox) => ToolSubject | undefined
  /** What a person who is asked is shown of the input, and of what else decides; left out: the input. */
  readonly shown?: (input: Input, box: Toolbox) => JsonObject
  /**
   * What would change, as a unified diff, for a person who is asked; an output: the call comes to this whatever they say, so
   * nobody is asked. @throws BatonError the same, as an error
   */
  readonly preview?: (input: Input, call: Omit<ToolCall, 'permit'>) => Promise<string | ToolOutput | undefined>
  /** The conversation has ended; `failure`: what its last answer failed with, if it did. */
  readonly close?: (box: Toolbox, context: RunContext, failure?: unknown) => Promise<void>
  /** @throws BatonError whose message the model is told */
  run(input: Input, call: ToolCall): Promise<ToolOutput>
}

/** A tool whose input has the type that its schema describes. */
export function defineTool<Input>(kind: ToolKind<Input>): ToolKind {
  return kind as unknown as ToolKind
}
