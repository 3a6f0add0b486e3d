import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import type { LiveTexts } from '../data/live-texts.ts'
import type { RunDetail } from '../live/wire.ts'
import { LiveText } from './live-text.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { useFollowEnd } from './use-follow-end.ts'

interface AnswersTabProps {
  readonly detail: RunDetail
  readonly texts: LiveTexts
}

/** The answers of a run, those in progress, and its prompt. */
export function AnswersTab({ detail, texts }: AnswersTabProps): VNode {
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
