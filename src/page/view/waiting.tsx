import type { VNode } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import { isActive } from '../../journal/summary.ts'
import { formFields } from '../data/form-fields.ts'
import { answerServer, resumeRun, wrongFields } from '../live/api.ts'
import { useInbox } from '../live/use-inbox.ts'
import type { PendingView, RunDetail, ServerQuestion } from '../live/wire.ts'
import { Approvals } from './approvals.tsx'
import { useNotice } from './notice.tsx'
import { SchemaFields } from './schema-fields.tsx'
import { useAnswerKeys } from './use-answer-keys.ts'

interface WaitingProps {
  readonly detail: RunDetail
  /** The run is to be read again. */
  readonly onAnswered: () => void
  /** The run was resumed. Default: as for an answer. */
  readonly onResumed?: () => void
  /** Keys are handled by what is around it. */
  readonly isPart?: true
}

/**
 * All that a run waits for: approvals, questions of MCP servers, and calls whose outcome is unknown. A run that no
 * process works on is resumed after the last answer.
 */
export function Waiting({ detail, onAnswered, onResumed = onAnswered, isPart }: WaitingProps): VNode | null {
  const { run, approvals, questions, uncertain, owned } = detail
  const box = useRef<HTMLDivElement>(null)
  const { complain } = useNotice()
  const { reload } = useInbox()
  const isElsewhere = isActive(run.status) && !owned
  const count = approvals.length + questions.length + uncertain.length
  useAnswerKeys(box, count > 0 && isPart !== true)
  if (count === 0) return null

  const resume = (choices: readonly string[] = []): void => {
    resumeRun(run.id, choices).then(() => {
      onResumed()
      reload()
    }, complain)
  }
  const decided = (left: number): void => {
    reload()
    if (isActive(run.status) || left > 0 || uncertain.length > 0) onAnswered()
    else resume()
  }
  return (
    <div ref={box} class="waiting" role="region" aria-label="Waiting for you" aria-live="polite">
      {isElsewhere && (
        <p class="about notes">It runs in another process: answer it in the terminal or program that started it.</p>
      )}
      {run.foreign === true && <p class="about notes">It was not recorded by this installation: it is read-only.</p>}
      {approvals.length > 0 && (
        <Approvals
          run={run.id}
          approvals={approvals}
          isReadOnly={isElsewhere || run.foreign === true}
          onDecided={decided}
        />
      )}
      {questions.length > 0 && <ServerQuestions run={run.id} questions={questions} onAnswered={() => decided(1)} />}
      {uncertain.length > 0 && (
        <UncertainCalls
          calls={uncertain}
          isBlocked={approvals.length > 0}
          onResume={resume}
          isReadOnly={run.foreign === true}
        />
      )}
    </div>
  )
}

interface ServerQuestionsProps {
  readonly run: string
  readonly questions: readonly ServerQuestion[]
  readonly onAnswered: () => void
}

/** Questions of MCP servers: a form, or an address to open. The texts are the server's. */
function ServerQuestions({ run, questions, onAnswered }: ServerQuestionsProps): VNode {
  return (
    <div class="calls">
      {questions.map((question) => (
        <Question key={question.id} run={run} question={question} onAnswered={onAnswered} />
      ))}
    </div>
  )
}

interface QuestionProps extends Pick<ServerQuestionsProps, 'run' | 'onAnswered'> {
  readonly question: ServerQuestion
}

function Question({ run, question, onAnswered }: QuestionProps): VNode {
  const { id, server, message, asker } = question
  const fields = useMemo(() => (question.kind === 'form' ? formFields(question.schema) : []), [question])
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map())
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const [isSending, setSending] = useState(false)
  const { say, complain } = useNotice()

  async function send(action: 'accept' | 'decline'): Promise<void> {
    setSending(true)
    try {
      const typed = fields.map(({ name, initial }) => [name, values.get(name) ?? initial] as const)
      await answerServer(run, id, action === 'accept' ? { action, content: Object.fromEntries(typed) } : { action })
      say(action === 'accept' ? `Answer sent to ${server}.` : `Question of ${server} declined.`)
      onAnswered()
    } catch (error) {
      const wrong = [...wrongFields(error)].map(([field, problem]) => [field.replace('content.', ''), problem] as const)
      setProblems(new Map(wrong))
      if (wrong.length === 0) complain(error)
    }
    setSending(false)
  }

  return (
    <article class="approval" data-item="question" aria-label={`Question ${id} of ${server}`} tabIndex={-1}>
      <h2>
        <span class="tag">question</span> The MCP server {harmlessName(server)} asks
      </h2>
      <p class="about">during a call of {asker === '' ? 'the main agent' : asker}. The text is the server's.</p>
      <p class="said">{harmlessLines(message)}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send('accept')
        }}
        noValidate
      >
        <SchemaFields
          id={`question-${run}-${id}`}
          fields={fields}
          values={values}
          problems={problems}
          onChange={(name, value) => setValues(new Map([...values, [name, value]]))}
        />
        {question.kind === 'url' && <Address url={question.url} />}
        <div class="decision">
          <button type="submit" class="primary" disabled={isSending}>
            {question.kind === 'url' ? 'I have opened it' : 'Send'}
          </button>
          <button type="button" class="danger" disabled={isSending} onClick={() => void send('decline')}>
            Decline
          </button>
        </div>
      </form>
    </article>
  )
}

/** An address that a server wants to be opened. It is shown whole, because it decides whom the person will trust. */
function Address({ url }: { readonly url: string }): VNode {
  const isPage = /^https?:\/\//i.test(url)
  return (
    <p>
      <code>{harmlessName(url)}</code>{' '}
      {isPage && (
        <a href={url} target="_blank" rel="noopener noreferrer">
          Open
        </a>
      )}
    </p>
  )
}

interface UncertainCallsProps {
  readonly calls: readonly PendingView[]
  /** Approvals of the run have to be answered first. */
  readonly isBlocked: boolean
  readonly isReadOnly: boolean
  /** Resumes the run with a choice for each call: `1.17=redo`. */
  readonly onResume: (choices: readonly string[]) => void
}

const words = {
  done: 'It was done',
  redo: 'Do it again',
  fail: 'It failed',
  tell: 'Let the model find out',
} as const

type Choice = keyof typeof words

/** Calls whose process was killed before it recorded how they ended: only a person can say what became of them. */
function UncertainCalls({ calls, isBlocked, isReadOnly, onResume }: UncertainCallsProps): VNode {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Choice>>(new Map())
  const isWhole = calls.every(({ id }) => chosen.has(id))
  return (
    <div class="calls">
      {calls.map(({ id, kind, place, text, error, can_tell: canTell }) => (
        <article
          key={id}
          class="approval"
          data-item="uncertain"
          aria-label={`What became of call ${id}?`}
          tabIndex={-1}
        >
          <h2>
            <span class="tag">{kind}</span> {harmlessName(text)}
          </h2>
          <p class="about">
            {error === null ? 'It was started, and nobody knows how it ended' : harmlessLines(error)}, at{' '}
            <code>{harmlessName(place)}</code>
          </p>
          <div class="decision" role="radiogroup" aria-label="What became of it">
            {(['done', 'redo', 'fail', ...(canTell === true ? (['tell'] as const) : [])] as const).map((choice) => (
              <label key={choice}>
                <input
                  type="radio"
                  name={`choice-${id}`}
                  disabled={isReadOnly}
                  checked={chosen.get(id) === choice}
                  onChange={() => setChosen(new Map([...chosen, [id, choice]]))}
                />{' '}
                {words[choice]}
              </label>
            ))}
          </div>
        </article>
      ))}
      <div class="decision notes">
        <button
          type="button"
          class="primary"
          disabled={!isWhole || isBlocked || isReadOnly}
          onClick={() => onResume([...chosen].map(([id, choice]) => `${id}=${choice}`))}
        >
          Resume
        </button>
        {isBlocked && <span class="about">Answer what needs approval first.</span>}
      </div>
    </div>
  )
}
