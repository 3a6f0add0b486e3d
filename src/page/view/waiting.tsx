import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { isActive } from '../../journal/summary.ts'
import { resumeRun } from '../live/api.ts'
import { useInbox } from '../live/use-inbox.ts'
import type { RunDetail } from '../live/wire.ts'
import { Approvals } from './approvals.tsx'
import { useNotice } from './notice.tsx'
import { ServerQuestions } from './server-questions.tsx'
import { UncertainCalls } from './uncertain-calls.tsx'
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
