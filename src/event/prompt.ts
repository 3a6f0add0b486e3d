import type { Json, JsonObject } from '../base/json.ts'
import type { FilePart, Usage } from './message.ts'

/**
 * `prompt.error` reports `failed` and `cancelled`. `waiting_for_approval`: the approval may be given in a later
 * process.
 */
export type PromptState = 'running' | 'completed' | 'waiting_for_approval' | 'failed' | 'cancelled'

interface Timed {
  /** ISO 8601. */
  readonly start: string
  /** Omitted while it is in progress. */
  readonly end?: string
}

/** A tool call; `code.execute` is a program written by the model. */
export interface PromptTool extends Timed {
  readonly type: 'tool'
  /** The id of the call that the model and its host use. */
  readonly id: string
  /** The name of the tool. */
  readonly function: string
  readonly input: Json
  readonly result:
    /** `reason`: what it is doing, for a program `Executing...`. */
    | { readonly type: 'pending'; readonly reason?: string }
    /** `value`: what it returned to programs, if that is more than a text; of `code.execute` always. */
    | { readonly type: 'success'; readonly output: string; readonly value?: Json }
    | { readonly type: 'error'; readonly error: string }
}

export interface PromptText extends Timed {
  readonly type: 'text'
  readonly text: string
  /** Written between tool calls; not part of the answer. */
  readonly interim?: true
  /** Says for the user why the prompt ended; not one of the messages. */
  readonly note?: true
}

interface PromptFile extends Timed {
  readonly type: 'file'
  readonly file: FilePart
}

/** One output of a prompt. All outputs form a timeline, in the order in which they started. */
export type PromptOutput = PromptTool | PromptText | PromptFile

/** One message of a conversation and its outputs. */
export interface Prompt {
  readonly id: string
  readonly userId: string
  /** The id of the mode that executes it. */
  readonly mode: string
  /** The name of the model that was asked for, such as the alias `high`; `normal` if none was. */
  readonly model: string
  /** Whether it is displayed. */
  readonly visible: boolean
  readonly state: PromptState
  readonly input?: string
  readonly output: readonly PromptOutput[]
  /** Of its model calls. */
  readonly usage?: Usage
}

/** How to execute a message; holds for this message only. */
export interface PromptChoice {
  /** The id of a mode; omitted: that of the conversation, by default `classic`. */
  readonly mode?: string
  /** The user, for events; omitted: `local`. */
  readonly userId?: string
  /** The name of a model, or an alias such as `normal` and `high`; omitted: that of the conversation. */
  readonly model?: string
  /** Whether it is displayed; omitted: true. For front ends: the model gets it in any case. */
  readonly visible?: boolean
  /** Values for the executor of its mode, laid over those of the conversation. Built-in modes read none. */
  readonly state?: JsonObject
  /** This program made the messages from what the record has anyway, such as the problems of the last answer. */
  readonly isFeedback?: true
}

/** The answer of a prompt: its texts, without those written between tool calls. */
export function answerOf({ output }: Pick<Prompt, 'output'>): string {
  const texts = output.flatMap((one) => (one.type === 'text' && one.interim !== true ? [one.text] : []))
  // avoids the copy of a join, because a single text may be large
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n\n')
}
