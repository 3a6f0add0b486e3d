import { join } from 'node:path'
import { defined } from '../../base/json.ts'
import { findChat, listChats, type MessageKind } from '../../chat/chat-list.ts'
import { ownerOfChat, ownerText } from '../../chat/chat-owner.ts'
import { type Chat, openChat, reopenChat } from '../../chat/chat.ts'
import { answersIn, answersOnly } from '../../history/answers.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { approvalsIn } from '../../history/pending.ts'
import { withView } from '../../history/run-view.ts'
import { isActive, type RunSummary } from '../../journal/summary.ts'
import { answersOf } from '../../library/options.ts'
import { begin } from '../../library/runs.ts'
import type { ActiveRuns } from './active-runs.ts'
import { Refusal } from '../refusal.ts'
import { folderOf, type ServedWorkspace } from './served-workspace.ts'

/** The body of `POST /prompt`. */
interface PromptAsked {
  readonly input: string
  readonly model?: string | undefined
  readonly mode?: string | undefined
  /** If omitted, a new conversation is started. */
  readonly conversationId?: string | undefined
  /** A prompt file whose settings apply to a new conversation. */
  readonly file?: string | undefined
}

interface PromptBegun {
  readonly conversationId: string
  /** The id of its run. */
  readonly promptId: string
}

interface ConversationMessage {
  readonly kind: MessageKind
  readonly promptId: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The full prompt. */
  readonly text: string
  readonly answer: string | null
  readonly run: RunSummary
}

export interface Conversations {
  /**
   * Resolves once the run of the prompt is recorded; the conversation is the history of its model.
   * @throws Refusal 404 if the conversation does not exist, 409 if its last prompt is in progress
   */
  readonly ask: (asked: PromptAsked) => Promise<PromptBegun>
  readonly list: () => Promise<
    readonly { readonly id: string; readonly at: string; readonly messages: number; readonly text: string }[]
  >
  readonly read: (id: string) => Promise<{ readonly id: string; readonly messages: readonly ConversationMessage[] }>
  /** The number of the only call that a prompt waits for. @throws Refusal 409 if there is none, or more than one */
  readonly onlyCall: (promptId: string) => Promise<string>
}

/** How long a call waits for an overloaded host by default; same as in `baton chat`. */
const patienceMs = 10 * 60_000

export function createConversations(served: ServedWorkspace, held: ActiveRuns): Conversations {
  const { cwd, home, env, runs, shared } = served
  const host = { cwd, home, env, what: 'baton serve', keepsTaken: false }
  /** Ids of conversations whose last prompt is in progress. A new conversation has no id yet. */
  const busy = new Set<string>()

  async function chatOf({ conversationId, file, model, mode }: PromptAsked): Promise<Chat> {
    const ownMode = mode === undefined ? [] : [`mode=${JSON.stringify(mode)}`]
    if (conversationId === undefined) {
      const overrides = [...shared.overrides, ...ownMode]
      return openChat(host, { overrides, ...defined({ file, model: model ?? shared.model }) })
    }
    const chat = await reopenChat(host, conversationId, defined({ model }))
    if (mode === undefined) return chat
    const others = chat.settings().overrides.filter((one) => !one.startsWith('mode='))
    chat.change({ overrides: [...others, ...ownMode] })
    return chat
  }

  async function refuseInProgress(id: string): Promise<void> {
    const messages = messagesOf(id)
    const last = messages.findLast(({ kind }) => kind !== 'background')
    const summary = last && (await readRunSummary(join(runs, last.run)))
    if (summary !== undefined && isActive(summary.status)) throw inProgress(id)
    const owner = await ownerOfChat(runs, id)
    if (owner !== undefined) {
      throw new Refusal(409, `conversation ${id} is open in ${ownerText(owner)}`, {
        hint: 'End it there first, or wait until it has answered.',
      })
    }
  }

  function messagesOf(id: string): ReturnType<typeof findChat>['messages'] {
    if (!listChats(runs).some((chat) => chat.id === id)) {
      throw new Refusal(404, 'this workspace has no such conversation')
    }
    return findChat(runs, id).messages
  }

  return {
    async ask(asked) {
      const { conversationId, input } = asked
      if (conversationId !== undefined && busy.has(conversationId)) throw inProgress(conversationId)
      if (conversationId !== undefined) busy.add(conversationId)
      let chat: Chat | undefined
      const end = (): void => {
        chat?.close()
        if (conversationId !== undefined) busy.delete(conversationId)
      }
      try {
        if (conversationId !== undefined) await refuseInProgress(conversationId)
        const opened = await chatOf(asked)
        chat = opened
        const promptId = await held.begin((given) => {
          const run = begin(given.signal, (listener, signal) =>
            opened.send({ text: input }, { signal, ...answersOf(given), patienceMs }, listener),
          )
          run.result.then(end, end)
          return run
        })
        return { conversationId: opened.id() ?? promptId, promptId }
      } catch (error) {
        end()
        throw error
      }
    },
    async list() {
      return listChats(runs).map(({ id, messages }) => ({
        id,
        at: timeText(messages.at(-1)?.at ?? 0),
        messages: messages.length,
        text: messages[0]?.text ?? '',
      }))
    },
    async read(id) {
      const messages = await Promise.all(
        messagesOf(id).map(async ({ kind, run: promptId, at, text }): Promise<readonly ConversationMessage[]> => {
          const folder = join(runs, promptId)
          const run = await readRunSummary(folder)
          if (run === undefined) return []
          const { asked, answers } = await withView(folder, answersOnly, answersIn)
          const answer = answers.length === 0 ? null : answers.map((one) => one.text).join('\n\n')
          return [{ kind, promptId, at: timeText(at), text: asked ?? text, answer, run }]
        }),
      )
      return { id, messages: messages.flat() }
    },
    async onlyCall(promptId) {
      const [call, ...more] = await approvalsIn(folderOf(served, promptId))
      if (call !== undefined && more.length === 0) return call.id
      const problem = call === undefined ? 'is not waiting for approval' : `waits for ${more.length + 1} approvals`
      throw new Refusal(409, `prompt ${promptId} ${problem}`, {
        hint: 'Name the call in "call"; GET /api/runs/:id lists the pending ones.',
      })
    },
  }
}

function inProgress(id: string): Refusal {
  return new Refusal(409, `conversation ${id} is answering a prompt`, {
    hint: 'Wait for the answer, or cancel the run.',
  })
}

function timeText(at: number): string {
  return new Date(at).toISOString()
}
