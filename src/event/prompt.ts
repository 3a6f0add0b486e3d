import type { Json } from '../base/json.ts'
import type { FilePart, Usage } from './message.ts'

/** `failed` and `cancelled` are announced by `prompt.error`. `waiting_for_approval`: of a person, maybe another day. */
export type PromptState = 'running' | 'completed' | 'waiting_for_approval' | 'failed' | 'cancelled'

interface Timed {
  /** ISO 8601. */
  readonly start: string
  /** Left out while it goes on. */
  readonly end?: string
}

/** A tool that was called; `code.execute` is a program that the model wrote. */
export interface PromptTool extends Timed {
  readonly type: 'tool'
  /** Of the call, as the model and its host know it. */
  readonly id: string
  /** The name of the tool. */
  readonly function: string
  readonly input: Json
  readonly result:
    | { readonly type: 'pending' }
    | { readonly type: 'success'; readonly output: string }
    | { readonly type: 'error'; readonly error: string }
}

interface PromptText extends Timed {
  readonly type: 'text'
  readonly text: string
  /** It was said on the way, between calls of tools, and is no part of the answer. */
  readonly interim?: true
}

interface PromptFile extends Timed {
  readonly type: 'file'
  readonly file: FilePart
}

/** One entry of what comes of a prompt. All of them are one timeline, in the order in which they began. */
export type PromptOutput = PromptTool | PromptText | PromptFile

/** One message of a conversation, and what came of it (R160, R161). */
export interface Prompt {
  readonly id: string
  readonly userId: string
  /** The id of the mode that it is executed in. */
  readonly mode: string
  /** `high` asks the model for its highest effort. */
  readonly model: 'normal' | 'high'
  /** Whether it is shown to people. */
  readonly visible: boolean
  readonly state: PromptState
  readonly input?: string
  readonly output: readonly PromptOutput[]
  /** Of its model calls. */
  readonly usage?: Usage
}

/** How a message is executed, where that is not as usual. */
export interface PromptChoice {
  /** The id of a mode; left out: `classic`. */
  readonly mode?: string
  /** Who asks, in events; left out: `local`. */
  readonly userId?: string
  readonly model?: Prompt['model']
}

/** The answer of a prompt: what it says, without what was said on the way. */
export function answerOf({ output }: Pick<Prompt, 'output'>): string {
  const texts = output.flatMap((one) => (one.type === 'text' && one.interim !== true ? [one.text] : []))
  // joining copies, and one text may be large
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n\n')
}
