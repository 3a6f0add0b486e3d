import type { Json, JsonObject } from '../../base/json.ts'
import type { ModelEnd, Tool, ToolResult } from '../../event/agent.ts'
import type { Message, ToolCallPart, Usage } from '../../event/message.ts'
import type { Prompt, PromptChoice, PromptState } from '../../event/prompt.ts'
import type { ProgramWork } from '../program-work.ts'
import type { Timeline } from './timeline.ts'

/** A way to execute a prompt: how one message becomes outputs (R154). */
export interface ExecutionMode {
  readonly id: string
  /** For people. */
  readonly name: string
  /** JSON Schema of the table that is named like the mode; left out: it has no options. */
  readonly options?: JsonObject
  /** Rounds of one message when nothing says how many (R207); left out: as many as the mode likes. */
  readonly rounds?: number
  createExecutor(options: ExecutorOptions): PromptExecutor
}

/** What an executor is made of (R155). */
export interface ExecutorOptions extends PromptChoice {
  readonly services: PromptServices
  readonly userId: string
  /** The prompts before this one, oldest first; they are part of the messages already. */
  readonly history?: readonly Prompt[]
  /** The messages of this prompt. */
  readonly input?: readonly Message[]
  /** Values that prompts of the conversation share. */
  readonly state?: JsonObject
  readonly maxRounds?: number
  /** A prompt that waited and is executed again: it keeps its id and outputs. */
  readonly resumePrompt?: Prompt
  /** The options of the mode, as its schema describes them. */
  readonly options?: JsonObject
}

/** One execution of one prompt (R152, R153). */
export interface PromptExecutor {
  /** As it is now. */
  readonly prompt: Prompt
  readonly id: string
  readonly userId: string
  readonly state: PromptState
  readonly usage: Usage
  /** Executes the prompt to its end. @throws what it failed with; the state then says `failed`, `cancelled` or `waiting_for_approval` */
  run(): Promise<Prompt>
  /** Allows a call that waits for a person, by the id of its output (R153); of other ids nothing happens. */
  approve?(toolCallId: string): Promise<void>
  /** The same with no; the model is told the reason. */
  reject?(toolCallId: string, reason?: string): Promise<void>
}

/** What a mode works with. Everything that costs or comes from outside is recorded, so that a resumed run repeats nothing. */
export interface PromptWork {
  /** Of the prompt. */
  readonly id: string
  /** Aborted when the prompt is interrupted, or the run is. */
  readonly signal: AbortSignal
  /** The messages of the conversation so far, oldest first: system prompt, history, this prompt, what came of it (R181). */
  readonly messages: () => readonly Message[]
  readonly addMessages: (messages: readonly Message[]) => void
  /** The tools that the model may use. */
  readonly tools: readonly Tool[]
  /** What the answer must be. `ask` sends it along; a mode whose answers are not those of the model tells it in words. */
  readonly output?: { readonly name: string; readonly schema: JsonObject }
  /**
   * Lets the plug-ins add what they know to the messages: to be called once, before the first `ask` (R173). `instructions`
   * are what the mode tells the model: they stand with the system prompt, once in a conversation.
   */
  readonly prepare: (options?: { readonly instructions?: string }) => Promise<void>
  /**
   * Asks the model with all messages, and adds its answer to them. With `tools` false it is not told of any, with `output`
   * false not of what the answer must be; `acceptsEmpty`: an empty answer is none that another model is asked for.
   * @throws BatonError of the call, LIMIT beyond `max_turns`
   */
  readonly ask: (options?: AskOptions) => Promise<Reply>
  /**
   * To be asked before a prompt ends whose model has no more to do: waits while somebody who works for it may still send a message, and
   * says whether there is one. Then the model is asked again, and told. @throws a suspension
   */
  readonly hasMail: () => Promise<boolean>
  /** Runs calls at once, bounded, and adds a message with the result of each, in order. */
  readonly runTools: (calls: readonly ToolCallPart[]) => Promise<readonly CalledTool[]>
  /**
   * Does work of the mode's own that calls tools, such as a program that the model wrote: an output of the name `function`,
   * which ends as what `run` returns. The calls of `run` are outputs behind it, and are recorded below it.
   * @throws what ends the run; what else `run` throws is its result, as an error
   */
  readonly program: (start: ProgramStart, run: (program: ProgramWork) => Promise<ToolResult>) => Promise<ToolResult>
  /** Adds messages that answer calls that are not carried out: a request with an open call would be refused. */
  readonly refuseCalls: (calls: readonly ToolCallPart[], why: string) => void
  /** What comes of the prompt. */
  readonly timeline: Timeline
  /** Adds a text that no model has streamed as it is. Events stream it first, unless `streams` is false (R219). */
  readonly say: (text: string, options?: { readonly streams?: boolean }) => void
  readonly warn: (message: string) => void
  readonly usage: () => Usage
}

interface AskOptions {
  readonly tools?: boolean
  readonly output?: boolean
  readonly acceptsEmpty?: boolean
}

interface ProgramStart {
  readonly function: string
  readonly input: Json
}

export interface PromptServices extends PromptWork {
  /** Makes the executor of a loop: the shape that every mode has to have. */
  readonly executor: (loop: ModeLoop) => PromptExecutor
}

/** The work of a mode: from the messages to outputs in the timeline. */
export type ModeLoop = (work: PromptWork) => Promise<ModelEnd>

/** What a model answered. */
interface Reply {
  readonly text: string
  /** None where no tools were offered. */
  readonly calls: readonly ToolCallPart[]
  /** Why it ended, when it calls nothing. */
  readonly end: ModelEnd
  /** The item that its text was streamed as, for the timeline. */
  readonly itemId: string
  /** `max_turns` is reached: it cannot be asked again. */
  readonly isLast: boolean
}

/** A call of a tool that has been answered. */
export interface CalledTool {
  readonly call: ToolCallPart
  readonly result: ToolResult
}
