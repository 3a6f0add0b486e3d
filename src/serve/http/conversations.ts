import { join } from 'node:path'
import { displayPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import type { ListedMessage, MessageKind } from '../../chat/chat-list.ts'
import { ownerOfChat, ownerText } from '../../chat/chat-owner.ts'
import { answersIn, answersOnly } from '../../history/answers.ts'
import { type RunSteps, stepsIn, stepsOnly } from '../../history/run-steps.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { approvalsIn } from '../../history/pending.ts'
import { type ViewOptions, withView } from '../../history/run-view.ts'
import { isActive, type ShownSummary } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import { Refusal } from '../refusal.ts'
import type { RunWorker } from '../workers/pool.ts'
import { asShown } from './shown-run.ts'
import { folderOf, type ServedWorkspace } from './served-workspace.ts'

/** The body of `POST /prompt`. */
interface PromptAsked {
  readonly input: string
  readonly model?: string | undefined
  readonly mode?: string | undefined
  /** If omitted, a new conversation is started. */
  readonly conversationId?: string | undefined
  /** A prompt file whose settings apply to a new conversation; of an existing one, the same file. */
  readonly file?: string | undefined
}

interface PromptBegun {
  readonly conversationId: string
  /** The id of its run. */
  readonly promptId: string
}

interface ConversationMessage extends RunSteps {
  readonly kind: MessageKind
  readonly promptId: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The full prompt. */
  readonly text: string
  readonly answer: string | null
  readonly run: ShownSummary
}

export interface ConversationsOptions {
  readonly held: ActiveRuns
  readonly takeWorker: () => RunWorker
  /** How many conversations stay open while nobody sends a prompt. */
  readonly mostOpen: number
}

/**
 * The conversations of the workspace. One that is open has a process of its own, with the MCP servers and background
 * commands that its prompts have started.
 */
export interface Conversations {
  /**
   * Resolves once the run of the prompt is recorded; the conversation is the history of its model.
   * @throws Refusal 404 if the conversation does not exist, 409 if its last prompt is in progress, or it is not of the
   * named file
   */
  readonly ask: (asked: PromptAsked) => Promise<PromptBegun>
  readonly list: () => Promise<
    readonly { readonly id: string; readonly at: string; readonly messages: number; readonly text: string }[]
  >
  /** `open`: it has a process here, so that no other can continue it. */
  readonly read: (
    id: string,
  ) => Promise<{ readonly id: string; readonly open: boolean; readonly messages: readonly ConversationMessage[] }>
  /** Ends its process, so that others can open it. Returns false if it is not open here. @throws Refusal 409 in a prompt */
  readonly close: (id: string) => boolean
  /** Ends the processes of the idle conversations that a run is a message of: it can only be resumed without them. */
  readonly release: (run: string) => Promise<void>
  /** The number of the only call that a prompt waits for. @throws Refusal 409 if there is none, or more than one */
  readonly onlyCall: (promptId: string) => Promise<string>
}

interface OpenConversation {
  readonly worker: RunWorker
  /** Closes it when no prompt has come for a while. Undefined while a prompt is in progress. */
  timer: NodeJS.Timeout | undefined
}

const messageOnly: ViewOptions = {
  ...answersOnly,
  keeps: (place) => answersOnly.keeps?.(place) === true || stepsOnly.keeps?.(place) === true,
}

/** How long a conversation stays open after its last prompt, in milliseconds. */
const openMs = 10 * 60_000

export function createConversations(
  served: ServedWorkspace,
  { held, takeWorker, mostOpen }: ConversationsOptions,
): Conversations {
  const { runs, shared, workspace, chats } = served
  /** Ids of conversations whose last prompt is in progress, or waits for its turn. */
  const busy = new Set<string>()
  /** By id, the one that has been idle for the longest time first. */
  const open = new Map<string, OpenConversation>()

  function keepOpen(id: string, worker: RunWorker, ended: Promise<void>): void {
    clearTimeout(open.get(id)?.timer)
    const conversation: OpenConversation = { worker, timer: undefined }
    open.delete(id)
    open.set(id, conversation)
    const isOpen = (): boolean => open.get(id) === conversation
    void worker.gone.then(() => {
      if (!isOpen()) return
      clearTimeout(conversation.timer)
      open.delete(id)
    })
    void ended.then(() => {
      busy.delete(id)
      if (!isOpen()) return
      open.delete(id)
      open.set(id, conversation)
      conversation.timer = setTimeout(() => closeConversation(id), openMs).unref()
      const idle = [...open].filter(([one]) => !busy.has(one))
      for (const [one] of idle.slice(0, Math.max(0, idle.length - mostOpen))) closeConversation(one)
    })
  }

  function closeConversation(id: string): boolean {
    const conversation = open.get(id)
    clearTimeout(conversation?.timer)
    open.delete(id)
    conversation?.worker.end()
    return conversation !== undefined
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

  function messagesOf(id: string): readonly ListedMessage[] {
    const chat = chats.list().find((one) => one.id === id)
    if (chat === undefined) throw new Refusal(404, 'this workspace has no such conversation')
    return chat.messages
  }

  return {
    async ask({ input, model, mode, conversationId: id, file }) {
      if (id !== undefined && busy.has(id)) throw inProgress(id)
      if (id !== undefined) busy.add(id)
      const isOpen = id !== undefined && open.has(id)
      let of = id
      let ended: Promise<void> | undefined
      let worker: RunWorker | undefined
      // asked again if the prompt had to wait for its turn, which may come as soon as it is recorded
      const workerOf = (): RunWorker => {
        const kept = of === undefined ? undefined : open.get(of)
        const recorder = ended === undefined ? worker : undefined
        worker = kept?.worker ?? recorder ?? takeWorker()
        if (kept === undefined && of !== undefined && ended !== undefined) keepOpen(of, worker, ended)
        return worker
      }
      try {
        if (id !== undefined && !isOpen) await refuseInProgress(id)
        const conversation = id === undefined ? { ...shared, ...defined({ file }) } : { id, ...defined({ file }) }
        const job = { kind: 'prompt', input, conversation, ...defined({ model, mode }) } as const
        const begun = await held.begin(job, workerOf)
        const { id: promptId, conversation: conversationId = promptId } = begun
        of = conversationId
        ended = begun.ended
        busy.add(conversationId)
        keepOpen(conversationId, worker ?? workerOf(), ended)
        return { conversationId, promptId }
      } catch (error) {
        if (id !== undefined) busy.delete(id)
        if (!isOpen) worker?.end()
        throw error
      }
    },
    close: (id) => {
      if (busy.has(id)) throw inProgress(id)
      return closeConversation(id)
    },
    async release(run) {
      if (open.size === 0) return
      for (const { id, messages } of chats.list()) {
        const worker = open.get(id)?.worker
        if (worker === undefined || busy.has(id) || !messages.some((message) => message.run === run)) continue
        closeConversation(id)
        await worker.gone
      }
    },
    async list() {
      return chats.list().map(({ id, messages }) => ({
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
          const { asked, answers, steps, earlier, files } = await withView(folder, messageOnly, (view) => ({
            ...answersIn(view),
            ...stepsIn(view),
          }))
          const answer = answers.length === 0 ? null : answers.map((one) => one.text).join('\n\n')
          const changed = files.map((path) => displayPath(workspace, path))
          const said = { kind, promptId, at: timeText(at), text: asked ?? text, answer }
          return [{ ...said, run: asShown(run, held), steps, earlier, files: changed }]
        }),
      )
      return { id, open: open.has(id), messages: messages.flat() }
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
