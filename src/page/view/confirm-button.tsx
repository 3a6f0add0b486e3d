import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

interface ConfirmButtonProps {
  readonly label: string
  /** What is asked before it is done. */
  readonly question: string
  readonly onConfirm: () => void
}

/** A button for what changes files: it asks once more. */
export function ConfirmButton({ label, question, onConfirm }: ConfirmButtonProps): VNode {
  const [isAsking, setAsking] = useState(false)
  if (!isAsking) {
    return (
      <button type="button" onClick={() => setAsking(true)}>
        {label}
      </button>
    )
  }
  return (
    <span class="confirm" role="group" aria-label={question}>
      <span>{question}</span>
      <button
        type="button"
        class="danger"
        ref={(button) => button?.focus()}
        onClick={() => {
          setAsking(false)
          onConfirm()
        }}
      >
        {label}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  )
}
