import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'

interface ComposerProps {
  readonly label: string
  readonly isDisabled: boolean
  readonly onSend: (text: string) => void
  /** Fields above the text. */
  readonly children?: ComponentChildren
}

/** A text field for a message. Ctrl-Enter sends it, Enter inserts a line break. */
export function Composer({ label, isDisabled, onSend, children }: ComposerProps): VNode {
  const [text, setText] = useState('')
  function send(): void {
    if (isDisabled || text.trim() === '') return
    onSend(text.trim())
    setText('')
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      {children !== undefined && <div class="options">{children}</div>}
      <textarea
        aria-label={label}
        placeholder={`${label} (Ctrl+Enter to send)`}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send()
        }}
      />
      <button type="submit" class="primary" disabled={isDisabled || text.trim() === ''}>
        Send
      </button>
    </form>
  )
}
