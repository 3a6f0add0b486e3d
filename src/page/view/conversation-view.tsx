import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isActive } from '../../journal/summary.ts'
import { isModelCall, type Row } from '../data/row.ts'
import { costText, countText, durationText, numberOf, whenText } from '../data/format.ts'
import { closeConversation, fetchChanges, fetchConversation, sendPrompt } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { useRun } from '../live/use-run.ts'
import type { ConversationMessage, RunDetail, RunSummary } from '../live/wire.ts'
import { hashOf, type Route } from '../route.ts'
import { ChangedFile } from './changes-tab.tsx'
import { Composer } from './composer.tsx'
import { Loading } from './loading.tsx'
import { Markdown } from './markdown.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'
import { LiveSteps, Steps } from './steps.tsx'
import { useFollowEnd } from './use-follow-end.ts'
import { Waiting } from './waiting.tsx'

interface ConversationViewProps {
  readonly id: string
  readonly go: (route: Route) => void
}

/** The messages of a conversation, including one that is being answered, and a field for the next one. */
export function ConversationView({ id, go }: ConversationViewProps): VNode {
  const [loaded, again] = useLoaded(id, () => fetchConversation(id))
  const [isSending, setSending] = useState(false)
  const { say, complain } = useNotice()
  const content = useRef<HTMLDivElement>(null)
  const messages = loaded.kind === 'here' ? loaded.value.messages : []
  const isAnswering = messages.some(({ kind, run }) => kind !== 'background' && isActive(run.status))
  useFollowEnd(content, true)

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

  const close = (): void =>
    void closeConversation(id).then(() => {
      say(`Closed. To continue it in a terminal: baton chat --resume ${id}`)
      again()
    }, complain)

  return (
    <section class="view scroll" aria-label={`Conversation ${id}`}>
      <div ref={content}>
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
          {loaded.kind === 'here' && loaded.value.open && !isAnswering && (
            <button
              type="button"
              title="Ends its MCP servers and background commands, so that a terminal can continue it"
              onClick={close}
            >
              Close conversation
            </button>
          )}
        </div>
        <Loading loaded={loaded}>
          {() => (
            <div class="messages">
              {messages.map((message) => (
                <Message
                  key={message.promptId}
                  message={message}
                  isLast={message === messages.at(-1)}
                  onEnded={again}
                />
              ))}
            </div>
          )}
        </Loading>
        <Composer label="Reply" isDisabled={isSending || isAnswering} onSend={(text) => void send(text)} />
      </div>
    </section>
  )
}

/** Whether it goes on here: it is being answered, or waits for an answer. */
function isOpen(status: RunSummary['status']): boolean {
  return isActive(status) || status === 'waiting_for_approval'
}

interface MessageProps {
  readonly message: ConversationMessage
  readonly isLast: boolean
  readonly onEnded: () => void
}

function Message({ message, isLast, onEnded }: MessageProps): VNode {
  const { kind, promptId, at, text, answer, run, steps, earlier, files } = message
  const { calls, tokens } = run
  return (
    <article class="message" aria-label={`Message from ${whenText(at)}`}>
      <p class="about">
        <time dateTime={at}>{whenText(at)}</time> {kind !== 'message' && <span class="tag">{kind}</span>}{' '}
        <StateBadge state={stateOf(run)} />{' '}
        {!isOpen(run.status) && (
          <>
            {durationText(run.duration_ms)} · <Spent calls={calls} tokens={tokens} usd={run.cost_usd} /> ·{' '}
          </>
        )}
        <a href={hashOf({ kind: 'run', id: promptId, tab: 'answer' })}>run {promptId}</a>
      </p>
      <div class="asked said">{text}</div>
      {isOpen(run.status) ? (
        <Writing id={promptId} onEnded={onEnded} />
      ) : (
        <>
          <Steps steps={steps} earlier={earlier} goesOn={false} />
          {answer !== null && <Markdown text={answer} />}
          {files.length > 0 && <ChangedFiles run={promptId} files={files} isShown={isLast} />}
          {run.status === 'interrupted' && (
            <p class="problem">
              Its process has ended unexpectedly before it had answered. Send another message, or resume the run.
            </p>
          )}
          {run.error !== null && <p class="problem">{run.error}</p>}
        </>
      )}
    </article>
  )
}

interface SpentProps {
  readonly calls: number
  readonly tokens: { readonly input: number; readonly output: number }
  readonly usd: number | null
}

function Spent({ calls, tokens: { input, output }, usd }: SpentProps): VNode {
  return (
    <span class="spent" title={`${input} input and ${output} output tokens`}>
      {numberOf(calls, 'call')}, {countText(input + output)} tokens, {costText(usd)}
    </span>
  )
}

interface ChangedFilesProps {
  readonly run: string
  readonly files: readonly string[]
  readonly isShown: boolean
}

const mostNames = 3

/** The files that a message has changed; their diffs are fetched when they are shown. */
function ChangedFiles({ run, files, isShown }: ChangedFilesProps): VNode {
  const [isOpened, setOpened] = useState(isShown)
  const names = [...files.slice(0, mostNames), ...(files.length > mostNames ? ['…'] : [])].join(', ')
  return (
    <details class="changed-files" open={isOpened} onToggle={({ currentTarget }) => setOpened(currentTarget.open)}>
      <summary>
        {numberOf(files.length, 'changed file')}: {names}
      </summary>
      {isOpened && <Diffs run={run} />}
    </details>
  )
}

function Diffs({ run }: { readonly run: string }): VNode {
  const [loaded] = useLoaded(run, () => fetchChanges(run))
  return (
    <Loading loaded={loaded}>
      {(changes) => (
        <>
          {changes.length === 0 && <p class="about">The files are as they were before.</p>}
          {changes.map((change) => (
            <ChangedFile key={change.path} change={change} />
          ))}
        </>
      )}
    </Loading>
  )
}

/** An answer in progress: its steps, its text, what it has cost, and the calls that wait for approval. */
function Writing({ id, onEnded }: { readonly id: string; readonly onEnded: () => void }): VNode {
  const { detail, rows, version, texts, reload, follow } = useRun(id)
  const status = detail?.run.status
  useEffect(() => {
    if (status !== undefined && !isOpen(status)) onEnded()
  }, [status, onEnded])
  const calls = useMemo(() => rows.filter(isModelCall), [rows, version])
  return (
    <>
      <LiveSteps run={id} rows={rows} version={version} texts={texts} />
      {detail !== undefined && <Waiting detail={detail} onAnswered={reload} onResumed={follow} />}
      <p class="about" role="status">
        {detail === undefined ? 'Working…' : stateText(detail)}
      </p>
      <p class="about">
        <Spent {...spentIn(calls)} />
      </p>
    </>
  )
}

function stateText({ run, approvals, questions, uncertain }: RunDetail): string {
  if (approvals.length > 0) return 'Waiting for your approval'
  if (questions.length + uncertain.length > 0) return 'Waiting for your answer'
  return run.status === 'queued' ? 'Waiting for its turn' : 'Working…'
}

function spentIn(calls: readonly Row[]): SpentProps {
  const sum = (of: (row: Row) => number | null | undefined): number =>
    calls.reduce((all, row) => all + (of(row) ?? 0), 0)
  const isPriced = calls.some(({ usd }) => typeof usd === 'number')
  return {
    calls: calls.length,
    tokens: { input: sum(({ input }) => input), output: sum(({ output }) => output) },
    usd: isPriced ? sum(({ usd }) => usd) : null,
  }
}
