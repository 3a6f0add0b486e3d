import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import type { PendingView } from '../live/wire.ts'

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
export function UncertainCalls({ calls, isBlocked, isReadOnly, onResume }: UncertainCallsProps): VNode {
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
