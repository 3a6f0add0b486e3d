import { isSuspension } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import { textOf, type Message } from '../../event/message.ts'
import type { SpokenDecision } from '../../event/permission.ts'
import type { Prompt, PromptState } from '../../event/prompt.ts'
import type { ExecutorOptions, ModeLoop, PromptExecutor, PromptWork } from './mode.ts'

interface LoopOptions extends Omit<ExecutorOptions, 'services'> {
  /** Answers the question of a running call; a no-op for ids of other calls. */
  readonly decide: (toolCallId: string, decision: SpokenDecision) => void
}

/** What all modes share: the prompt with its state, around a loop that produces its outputs. */
export function createLoopExecutor(
  work: PromptWork,
  { mode = 'classic', userId, model = 'normal', input = [], resumePrompt, decide }: LoopOptions,
  loop: ModeLoop,
): PromptExecutor {
  const { id, signal, timeline, usage } = work
  let state: PromptState = 'running'
  const said = (): string => resumePrompt?.input ?? inputText(input)
  const prompt = (): Prompt => ({
    id,
    userId,
    mode,
    model,
    visible: resumePrompt?.visible ?? true,
    state,
    ...defined({ input: said() || undefined }),
    output: timeline.all(),
    usage: usage(),
  })
  return {
    id,
    userId,
    get prompt() {
      return prompt()
    },
    get state() {
      return state
    },
    get usage() {
      return usage()
    },
    async run() {
      state = 'running'
      try {
        await loop(work)
        state = 'completed'
        return prompt()
      } catch (error) {
        state = isSuspension(error) ? 'waiting_for_approval' : signal.aborted ? 'cancelled' : 'failed'
        throw error
      }
    },
    // R153
    async approve(toolCallId) {
      decide(toolCallId, 'allow')
    },
    async reject(toolCallId, reason) {
      decide(toolCallId, reason === undefined ? 'deny' : { remark: reason })
    },
  }
}

/** The user's text in the messages of a prompt. */
function inputText(messages: readonly Message[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n')
}
