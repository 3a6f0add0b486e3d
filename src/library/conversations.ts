import { createBroadcast } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import type { RunEvent } from '../event/event.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import { newRunId, runsFolder } from '../journal/run-id.ts'
import type { Prompt } from '../event/prompt.ts'
import type { ConverseOptions, Operation } from '../run/converse.ts'
import { startRun } from '../runner.ts'
import type { RunReport } from '../wiring/conduct.ts'
import {
  checkedOptions,
  checkOperation,
  type ConversationOptions,
  type PlaceOptions,
  type RecordOptions,
  startOptions,
} from './options.ts'
import { begin } from './runs.ts'
import type { Approver, Decision } from '../event/permission.ts'

export type { Operation } from '../run/converse.ts'

/** An event of a conversation, with its agent and user. */
export type ConversationEvent = RunEvent & { readonly agent_id: string; readonly user_id: string }

/** A conversation that a front end drives. */
export interface Conversation {
  /** The id of its run. */
  readonly id: string
  /**
   * Operations are carried out in order; any number may wait.
   * @throws BatonError USAGE for an operation that does not exist or has wrong fields, and after `shutdown`; another
   * `shutdown` has no effect
   */
  readonly submit: (operation: Operation) => void
  /** All events until it ends. Any number of loops may read them. */
  readonly events: AsyncIterable<ConversationEvent>
  /**
   * Its prompts with their outputs, oldest first, including those it was opened with and the one in progress; also once
   * it has ended. As `history`, they let another conversation continue it.
   */
  readonly prompts: () => readonly Prompt[]
  /** How it ended: `stopReason` is `done` after `shutdown`. Does not reject. */
  readonly ended: Promise<RunReport>
}

/** Owns conversations: opens them, and knows the open ones. */
export interface Conversations {
  /** @throws BatonError USAGE for options that do not exist or are of a wrong type */
  readonly open: (options?: ConversationOptions) => Conversation
  /** Finds a conversation by id; undefined once it has ended. */
  readonly get: (id: string) => Conversation | undefined
  /** Ends all of them, each after its submitted prompts. */
  readonly close: () => Promise<void>
}

/** Reads the prompts of recorded conversations. @throws BatonError USAGE for wrong options, and if there is none, or several */
export function promptsAt(
  placeOf: (options: PlaceOptions) => Required<PlaceOptions>,
): (id: string, options?: RecordOptions) => Promise<readonly Prompt[]> {
  return async (id, options = {}) => {
    const { overrides = [], ...given } = checkedOptions('conversationPrompts', { id }, options)
    const { env, home, cwd } = placeOf(given)
    const { workspace, settings } = await loadTargetConfig({ env, home, cwd, flags: { overrides } })
    const { recordedPrompts } = await import('../chat/recorded-prompts.ts')
    return recordedPrompts(runsFolder({ env, home, workspace, runsDir: settings.runs.dir }), id)
  }
}

/** `shared` are the defaults for all of them. */
export function conversationsAt(
  shared: ConversationOptions,
  placeOf: (options: PlaceOptions) => Required<PlaceOptions>,
): Conversations {
  const active = new Map<string, Conversation>()
  return {
    open(options = {}) {
      const given = checkedOptions('open', { caller: 'conversations' }, { ...shared, ...options })
      const conversation = converseWith(given, placeOf(given))
      active.set(conversation.id, conversation)
      void conversation.ended.then(() => active.delete(conversation.id))
      return conversation
    },
    get: (id) => active.get(id),
    async close() {
      const open = [...active.values()]
      for (const { submit } of open) submit({ type: 'shutdown' })
      await Promise.all(open.map(({ ended }) => ended))
    },
  }
}

function converseWith(options: ConversationOptions, place: Required<PlaceOptions>): Conversation {
  const { instructions = '', history = [], state, userId = 'local', record = true, signal, ...others } = options
  const id = newRunId(new Date())
  const operations = createBroadcast<Operation>()
  const questions = createQuestions()
  let isOver = false
  let prompts = (): readonly Prompt[] => history
  const run = begin(signal, (listener, either) =>
    startRun(
      'chat',
      {
        ...startOptions(others, place),
        id,
        text: instructions,
        signal: either,
        approver: questions.ask,
        ...(record ? {} : { open: async (_, { mask }) => ({ journal: createMemoryJournal({ now, mask }) }) }),
        async work(target, { context }) {
          const { converse } = await import('../run/converse.ts')
          if (target.kind !== 'prompt') throw new Error('a text is a prompt')
          const conversing = { target, operations, decide: questions.decide, history, userId, state }
          const onOpen: ConverseOptions['onOpen'] = (session) => (prompts = session.prompts)
          return converse({ ...conversing, onOpen }, context)
        },
      },
      listener,
    ),
  )
  const ended = run.result.finally(() => {
    isOver = true
    operations.end()
  })
  return {
    id,
    events: {
      async *[Symbol.asyncIterator]() {
        for await (const event of run) yield { ...event, agent_id: event.agent, user_id: userId }
      },
    },
    submit(operation) {
      checkOperation(operation)
      if (isOver && operation.type === 'shutdown') return
      if (isOver) throw new BatonError('USAGE', `the conversation ${id} has ended`, { hint: 'Open another one.' })
      if (operation.type === 'shutdown') {
        isOver = true
        questions.close()
      }
      operations.push(operation)
    },
    prompts: () => prompts(),
    ended,
  }
}

const now = (): Date => new Date()

/** The questions of one conversation, and the operations that answer them. */
interface Questions {
  /** Rejects with the reason of the question's signal. */
  readonly ask: Approver
  /** Answers a pending question; other ids are ignored. */
  readonly decide: (operation: Extract<Operation, { readonly id: string }>) => void
  /** No more answers will come: pending and future questions are rejected. */
  readonly close: () => void
}

/** The questions of a run, answered by the operations of its front end. */
export function createQuestions(): Questions {
  const open = new Map<string, (decision: Decision) => void>()
  let isClosed = false
  const ask: Approver = async (_, { id, signal }) => {
    signal.throwIfAborted()
    if (isClosed) return 'deny'
    return new Promise<Decision>((resolve, reject) => {
      open.set(id, resolve)
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    }).finally(() => open.delete(id))
  }
  return {
    ask,
    close() {
      isClosed = true
      for (const answer of open.values()) answer('deny')
    },
    decide(operation) {
      const answer = open.get(operation.id)
      if (operation.type === 'approve') answer?.('allow')
      else answer?.(operation.reason === undefined ? 'deny' : { remark: operation.reason })
    },
  }
}
