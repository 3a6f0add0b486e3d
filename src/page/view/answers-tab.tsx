import type { VNode } from 'preact'
import { isActive } from '../../journal/summary.ts'
import type { LiveTexts } from '../live/use-run.ts'
import type { RunDetail } from '../live/wire.ts'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'

interface AnswersTabProps {
  readonly detail: RunDetail
  readonly texts: LiveTexts
}

/** The answers of a run, those in progress, and its prompt. */
export function AnswersTab({ detail, texts }: AnswersTabProps): VNode {
  const { answers, run, text, prompt_file: file } = detail
  const isEmpty = answers.length === 0 && texts.size === 0
  return (
    <div class="answers">
      {isEmpty && <p class="empty">{isActive(run.status) ? 'No answer yet.' : 'This run has no answer.'}</p>}
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
          <pre class="text">{written}</pre>
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
