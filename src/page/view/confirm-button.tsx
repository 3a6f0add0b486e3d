import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

interface ConfirmButtonProps {
  readonly label: string
  /** The question shown before the action. */
  readonly question: string
  readonly onConfirm: () => void
}

/** A button that asks for confirmation, for actions that change files. */
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
        Cancel
      </button>
    </span>
  )
}
