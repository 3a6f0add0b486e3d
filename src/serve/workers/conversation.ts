import { defined } from '../../base/json.ts'
import { type Chat, type ChatHost, openChat, reopenChat } from '../../chat/chat.ts'
import { approverOf } from '../../library/approvals.ts'
import { begin, type Run } from '../../library/runs.ts'
import type { ContinueJob, PromptJob } from './messages.ts'
import type { OfJob } from './worker.ts'

/** The conversation of a worker: it stays open between its prompts. */
export interface OpenConversation {
  /** Undefined before its first prompt is recorded. */
  readonly id: () => string | undefined
  readonly begin: (job: PromptJob | ContinueJob, given: OfJob) => Promise<Run>
  readonly close: () => void
}

/** How long a call waits for an overloaded host by default; same as in `baton chat`. */
const patienceMs = 10 * 60_000

export function createConversation(place: Omit<ChatHost, 'what' | 'keepsTaken'>): OpenConversation {
  const host = { ...place, what: 'baton serve', keepsTaken: false }
  let chat: Chat | undefined

  async function chatOf(job: PromptJob | ContinueJob): Promise<Chat> {
    const { conversation } = job
    const { model, mode } = job.kind === 'prompt' ? job : {}
    const ownMode = mode === undefined ? [] : [`mode=${JSON.stringify(mode)}`]
    if (!('id' in conversation)) {
      const overrides = [...conversation.overrides, ...ownMode]
      return openChat(host, { overrides, ...defined({ file: conversation.file, model: model ?? conversation.model }) })
    }
    const known = chat ?? (await reopenChat(host, conversation.id))
    if (model !== undefined) known.change({ model })
    if (mode !== undefined) {
      const others = known.settings().overrides.filter((one) => !one.startsWith('mode='))
      known.change({ overrides: [...others, ...ownMode] })
    }
    return known
  }

  return {
    id: () => chat?.id(),
    async begin(job, { signal, approve, calling, onRecord }) {
      const opened = await chatOf(job)
      chat = opened
      const watching = { approver: approverOf(approve), patienceMs, calling, onBegin: onRecord }
      return begin(signal, (listener, either) =>
        job.kind === 'prompt'
          ? opened.send({ text: job.input }, { ...watching, signal: either }, listener)
          : opened.resume(job.id, { ...watching, signal: either }, listener),
      )
    },
    close: () => chat?.close(),
  }
}
