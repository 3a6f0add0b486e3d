import type { Json } from '../base/json.ts'
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
    | { readonly type: 'success'; readonly output: string }
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
  /** `high` requests the highest reasoning effort of the model. */
  readonly model: 'normal' | 'high'
  /** Whether it is displayed. */
  readonly visible: boolean
  readonly state: PromptState
  readonly input?: string
  readonly output: readonly PromptOutput[]
  /** Of its model calls. */
  readonly usage?: Usage
}

/** How to execute a message; overrides the defaults. */
export interface PromptChoice {
  /** The id of a mode; omitted: `classic`. */
  readonly mode?: string
  /** The user, for events; omitted: `local`. */
  readonly userId?: string
  readonly model?: Prompt['model']
  /** This program made the messages from what the record has anyway, such as the problems of the last answer. */
  readonly isFeedback?: true
}

/** The answer of a prompt: its texts, without those written between tool calls. */
export function answerOf({ output }: Pick<Prompt, 'output'>): string {
  const texts = output.flatMap((one) => (one.type === 'text' && one.interim !== true ? [one.text] : []))
  // avoids the copy of a join, because a single text may be large
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n\n')
}
