import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import { formFields } from '../data/form-fields.ts'
import { answerServer, wrongFields } from '../live/api.ts'
import type { ServerQuestion } from '../live/wire.ts'
import { useNotice } from './notice.tsx'
import { SchemaFields } from './schema-fields.tsx'

interface ServerQuestionsProps {
  readonly run: string
  readonly questions: readonly ServerQuestion[]
  readonly onAnswered: () => void
}

/** Questions of MCP servers: a form, or an address to open. The texts are the server's. */
export function ServerQuestions({ run, questions, onAnswered }: ServerQuestionsProps): VNode {
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
  const { id, server, message, agent } = question
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
      <p class="about">
        during a call of <code>{harmlessName(agent)}</code>. The text is the server's.
      </p>
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
