import type { Json, JsonObject } from '../../base/json.ts'
import type { ModelEnd, Tool, ToolResult } from '../../event/agent.ts'
import type { Message, ToolCallPart, Usage } from '../../event/message.ts'
import type { Prompt, PromptChoice, PromptState } from '../../event/prompt.ts'
import type { EmptyAnswer } from '../model-call.ts'
import type { ProgramWork } from '../program-work.ts'
import type { Timeline } from './timeline.ts'

/** What is known of a mode: how one message of a conversation becomes outputs. */
interface ModeRow {
  readonly id: string
  /** For users. */
  readonly name: string
  /** JSON Schema of the table that is named like the mode. Default: no options. */
  readonly options?: JsonObject
  /** Default limit of rounds for one message. If omitted, the mode decides. */
  readonly rounds?: number
}

/** A mode that comes with Baton: the loop (`agent/loop.ts`) asks the model and makes its calls. */
export interface Mode extends ModeRow {
  /** Called for each prompt. */
  readonly open: (given: ModeInput) => OpenMode | Promise<OpenMode>
}

/** A mode of a plug-in: its executor does all the work of a prompt. */
export interface ExecutionMode extends ModeRow {
  createExecutor(options: ExecutorOptions): PromptExecutor
}

export type KnownMode = Mode | ExecutionMode

/** What a mode is opened with, for one prompt. */
export interface ModeInput extends Pick<PromptWork, 'signal' | 'tools' | 'offered' | 'output' | 'say'> {
  /** The limit of rounds that the model is told. */
  readonly rounds: number
  /** The options of the mode, which match its schema. */
  readonly options: JsonObject
}

/** How a mode answers one prompt. */
export interface OpenMode {
  /** For the model: added to the system prompt, once per conversation. */
  readonly instructions?: string
  /** How the model is asked. Default: with all tools. */
  readonly offer?: AskOptions
  /** What comes of an answer of the model. */
  readonly take: (answer: Reply) => Step
  /** The output of a prompt that a limit of rounds ends. */
  readonly limitNote: (maxRounds: number) => string
}

/** What comes of an answer. */
export type Step =
  /** The model has nothing more to do, unless a message comes for it. */
  | { readonly kind: 'end'; readonly end: ModelEnd }
  /** There is nothing to go on with; `note` is an output. */
  | { readonly kind: 'nothing'; readonly end: ModelEnd; readonly note: string }
  | { readonly kind: 'calls' }
  | ProgramStep
  /**
   * The model is asked once more, with a message about its answer. `warning`: for the user. `refused`: why the prompt
   * fails if it is not asked; omitted: the answer is used.
   */
  | { readonly kind: 'again'; readonly message: string; readonly warning: string; readonly refused?: Error }
  /** The answer cannot be used, and asking again is of no use. */
  | { readonly kind: 'fail'; readonly error: Error }

/** A program of the model, which is an output of its own. */
export interface ProgramStep extends ProgramStart {
  readonly kind: 'program'
  /** Runs it. @throws errors that end the run; other errors become its result */
  readonly run: (program: ProgramWork) => Promise<ToolResult>
  /** What the model gets of a result, and whether the program said that it is the last one. */
  readonly give: (result: ToolResult) => { readonly told: ToolResult; readonly isDone: boolean }
}

/** What an executor is made of. */
export interface ExecutorOptions extends PromptChoice {
  readonly services: PromptServices
  readonly userId: string
  /** The earlier prompts, oldest first; they are already part of the messages. */
  readonly history?: readonly Prompt[]
  /** The messages of this prompt. */
  readonly input?: readonly Message[]
  /** The values of the conversation, and over them those of the prompt; omitted: there are none. */
  readonly state?: JsonObject
  readonly maxRounds?: number
  /** The limit that the model is told, if that was another one when the run began. */
  readonly toldRounds?: number
  /** The options of the mode, which match its schema. */
  readonly options?: JsonObject
}

/** One execution of one prompt. */
export interface PromptExecutor {
  /** The current state. */
  readonly prompt: Prompt
  readonly id: string
  readonly userId: string
  readonly state: PromptState
  readonly usage: Usage
  /**
   * Executes the prompt to its end. @throws the error of a failure; the state is then `failed`, `cancelled` or
   * `waiting_for_approval`
   */
  run(): Promise<Prompt>
  /** Allows a call that waits for the user, by the id of its output; a no-op for other ids. */
  approve?(toolCallId: string): Promise<void>
  /** Denies it; the model gets the reason. */
  reject?(toolCallId: string, reason?: string): Promise<void>
}

/**
 * What a mode of a plug-in works with. Everything that costs or comes from outside is recorded, so that a resumed run
 * repeats nothing.
 */
export interface PromptWork {
  /** Of the prompt. */
  readonly id: string
  /** Aborted when the prompt or the run is interrupted. */
  readonly signal: AbortSignal
  /**
   * The messages of the conversation so far, oldest first: system prompt, history, this prompt, its answers and
   * results.
   */
  readonly messages: () => readonly Message[]
  readonly addMessages: (messages: readonly Message[]) => void
  /** The tools that the model may use. */
  readonly tools: readonly Tool[]
  /** The names of those that `ask` offers to it. */
  readonly offered: readonly string[]
  /**
   * The required form of the answer. `ask` sends it to the host; a mode that does not use the model's answer as is
   * describes it in its instructions.
   */
  readonly output?: { readonly name: string; readonly schema: JsonObject }
  /**
   * Adds the plug-ins' context to the messages; call it once, before the first `ask`. `instructions` are for the
   * model: they are added to the system prompt, once per conversation.
   */
  readonly prepare: (options?: { readonly instructions?: string }) => Promise<void>
  /**
   * Asks the model with all messages, and adds its answer to them. `tools: false` offers no tools, `output: false`
   * requires no output form; `acceptsEmpty`: an empty answer is not retried with another model; `again`: it is in `empty` of the
   * reply if the mode may ask again, and an error otherwise.
   * @throws BatonError of the call, LIMIT beyond `max_turns`
   */
  readonly ask: (options?: AskOptions) => Promise<Reply>
  /**
   * Adds a message about the last answer, after which the model is to be asked again, and warns unless an earlier
   * process did.
   */
  readonly askAgain: (message: string, warning: string) => void
  /** Whether this is a replay of a run that asked nothing after the last answer: it accepted it. */
  readonly endsHere: () => boolean
  /**
   * Call it before a prompt ends because its model has nothing more to do. Waits while agents that work for it may
   * still send a message, and returns whether there is one: then ask the model again. @throws a suspension
   */
  readonly hasMail: () => Promise<boolean>
  /** Runs calls concurrently, with a limit, and adds a message with the result of each, in order. */
  readonly runTools: (calls: readonly ToolCallPart[]) => Promise<readonly CalledTool[]>
  /**
   * Runs work of the mode that calls tools, such as a program written by the model, as one output named `function`
   * whose result is what `run` returns. The calls of `run` are later outputs, and are recorded below it.
   * @throws errors that end the run; other errors of `run` become its result
   */
  readonly program: (start: ProgramStart, run: (program: ProgramWork) => Promise<ToolResult>) => Promise<ToolResult>
  /** Adds error results for calls that are not run: hosts reject a request with an open call. */
  readonly refuseCalls: (calls: readonly ToolCallPart[], why: string) => void
  readonly timeline: Timeline
  /** Adds a text that was not streamed from a model as is. Events stream it first, unless `streams` is false. */
  readonly say: (text: string, options?: { readonly streams?: boolean }) => void
  readonly warn: (message: string) => void
  readonly usage: () => Usage
}

export interface AskOptions {
  readonly tools?: boolean
  readonly output?: boolean
  readonly acceptsEmpty?: boolean | 'again'
}

interface ProgramStart {
  readonly function: string
  readonly input: Json
}

interface PromptServices extends PromptWork {
  readonly executor: (loop: ModeLoop) => PromptExecutor
}

/** The work of a mode of a plug-in: turns messages into outputs in the timeline. */
export type ModeLoop = (work: PromptWork) => Promise<ModelEnd>

/** An answer of the model. */
export interface Reply {
  readonly text: string
  /** Empty if no tools were offered. */
  readonly calls: readonly ToolCallPart[]
  /** Why it ended, if it calls nothing. */
  readonly end: ModelEnd
  /** The item that its text was streamed as, for the timeline. */
  readonly itemId: string
  /** `max_turns` is reached: the model cannot be asked again. */
  readonly isLast: boolean
  /** The answer is empty. */
  readonly empty?: EmptyAnswer
}

export interface CalledTool {
  readonly call: ToolCallPart
  readonly result: ToolResult
}
