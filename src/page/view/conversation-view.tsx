import type { VNode } from 'preact'
import { isActive } from '../../journal/summary.ts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { costText, durationText, whenText } from '../data/format.ts'
import { fetchConversation, sendPrompt } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { useRun } from '../live/use-run.ts'
import type { ConversationMessage, RunSummary } from '../live/wire.ts'
import { hashOf, type Route } from '../route.ts'
import { Composer } from './composer.tsx'
import { Loading } from './loading.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'
import { Waiting } from './waiting.tsx'

interface ConversationViewProps {
  readonly id: string
  readonly go: (route: Route) => void
}

/** The messages of a conversation, including one that is being answered, and a field for the next one. */
export function ConversationView({ id, go }: ConversationViewProps): VNode {
  const [loaded, again] = useLoaded(id, () => fetchConversation(id))
  const [isSending, setSending] = useState(false)
  const { complain } = useNotice()
  const end = useRef<HTMLDivElement>(null)
  const messages = loaded.kind === 'here' ? loaded.value.messages : []
  const isAnswering = messages.some(({ kind, run }) => kind !== 'background' && isActive(run.status))
  useEffect(() => end.current?.scrollIntoView({ block: 'end' }), [messages.length])

  async function send(input: string): Promise<void> {
    setSending(true)
    try {
      await sendPrompt({ input, conversationId: id })
      again()
    } catch (error) {
      complain(error)
    }
    setSending(false)
  }

  return (
    <section class="view scroll" aria-label={`Conversation ${id}`}>
      <div class="title">
        <button
          type="button"
          class="quiet back"
          aria-label="Back to conversations"
          onClick={() => go({ kind: 'conversations' })}
        >
          ←
        </button>
        <h1>Conversation</h1>
        <code>{id}</code>
      </div>
      <Loading loaded={loaded}>
        {() => (
          <div class="messages">
            {messages.map((message) => (
              <Message key={message.promptId} message={message} onEnded={again} />
            ))}
          </div>
        )}
      </Loading>
      <Composer label="Reply" isDisabled={isSending || isAnswering} onSend={(text) => void send(text)} />
      <div ref={end} />
    </section>
  )
}

/** Whether it goes on here: it is being answered, or waits for an answer. */
function isOpen(status: RunSummary['status']): boolean {
  return isActive(status) || status === 'waiting_for_approval'
}

interface MessageProps {
  readonly message: ConversationMessage
  readonly onEnded: () => void
}

function Message({ message, onEnded }: MessageProps): VNode {
  const { kind, promptId, at, text, answer, run } = message
  return (
    <article class="message" aria-label={`Message from ${whenText(at)}`}>
      <p class="about">
        <time dateTime={at}>{whenText(at)}</time> {kind !== 'message' && <span class="tag">{kind}</span>}{' '}
        <StateBadge state={stateOf(run)} /> {durationText(run.duration_ms)} · {costText(run.cost_usd)} ·{' '}
        <a href={hashOf({ kind: 'run', id: promptId, tab: 'answer' })}>run {promptId}</a>
      </p>
      <div class="asked said">{text}</div>
      {isOpen(run.status) ? (
        <Writing id={promptId} onEnded={onEnded} />
      ) : (
        <>
          {answer !== null && <Markdown text={answer} />}
          {run.error !== null && <p class="problem">{run.error}</p>}
        </>
      )}
    </article>
  )
}

/** An answer in progress, with the calls that wait for approval. */
function Writing({ id, onEnded }: { readonly id: string; readonly onEnded: () => void }): VNode {
  const { detail, texts, reload, follow } = useRun(id)
  const status = detail?.run.status
  useEffect(() => {
    if (status !== undefined && !isOpen(status)) onEnded()
  }, [status, onEnded])
  return (
    <div aria-live="polite">
      {detail !== undefined && <Waiting detail={detail} onAnswered={reload} onResumed={follow} />}
      {texts.size === 0 ? (
        <p class="about">Working…</p>
      ) : (
        [...texts].map(([place, written]) => <LongText key={place} text={written} />)
      )}
    </div>
  )
}
