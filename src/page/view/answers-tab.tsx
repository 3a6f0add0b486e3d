import type { VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import type { Row } from '../data/row.ts'
import type { LiveTexts } from '../data/live-texts.ts'
import type { RunDetail } from '../live/wire.ts'
import { LiveText } from './live-text.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { TaskList } from './task-list.tsx'
import { useFollowEnd } from './use-follow-end.ts'

interface AnswersTabProps {
  readonly detail: RunDetail
  readonly texts: LiveTexts
  readonly rows: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** With more tasks, their answers are not shown below each other but one by one. */
const mostTasks = 20

/** The answers of a run, or the list of its tasks. */
export function AnswersTab({ rows, version, now, onPlace, ...rest }: AnswersTabProps): VNode {
  const tasks = useMemo(() => lastTasks(rows), [rows, version])
  const { done, failed, skipped } = rest.detail.run.tasks
  if (Math.max(tasks.length, done + failed + skipped) <= mostTasks) return <Answers {...rest} />
  return <TaskList tasks={tasks} version={version} now={now} onPlace={onPlace} />
}

/** The tasks of the last round or iteration. */
function lastTasks(rows: readonly Row[]): readonly Row[] {
  const tasks = rows.filter(({ kind }) => kind === 'task')
  const round = tasks.at(-1)?.place.replace(/\d+$/, '')
  return tasks.filter(({ place }) => place.replace(/\d+$/, '') === round)
}

/** The answers of a run, those in progress, and its prompt. */
function Answers({ detail, texts }: Pick<AnswersTabProps, 'detail' | 'texts'>): VNode {
  const { answers, run, text, prompt_file: file } = detail
  const content = useRef<HTMLDivElement>(null)
  useFollowEnd(content, run.status === 'running')
  const isEmpty = answers.length === 0 && texts.size === 0
  return (
    <div ref={content} class="answers">
      {isEmpty && <p class="empty">{run.status === 'running' ? 'No answer yet.' : 'This run has no answer.'}</p>}
      {answers.map(({ label, text: answer }, index) => (
        <article key={index} class="answer" aria-label={label === '' ? 'Answer' : `Answer for ${label}`}>
          {label !== '' && <h2>{label}</h2>}
          <Markdown text={answer} />
        </article>
      ))}
      {[...texts].map(([place, written]) => (
        <article key={place} class="answer writing" aria-label="Answer in progress" aria-busy="true">
          <h2>
            <code>{place}</code> is writing…
          </h2>
          <LiveText text={written} />
        </article>
      ))}
      {text !== null && text !== '' && (
        <details>
          <summary>{file === null ? 'Prompt' : `Prompt file ${file}`}</summary>
          <LongText text={text} />
        </details>
      )}
    </div>
  )
}
