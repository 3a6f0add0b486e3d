import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const shownAtFirst = 20_000

interface LongTextProps {
  readonly text: string
  /** Called when all of it is shown. */
  readonly onWhole?: () => void
}

/** A preformatted text. If it is very long, it is truncated until the user asks for the rest. */
export function LongText({ text, onWhole }: LongTextProps): VNode {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && text.length > shownAtFirst
  useEffect(() => {
    if (!isCut) onWhole?.()
  }, [isCut])
  return (
    <>
      <pre class="text" tabIndex={0}>
        {isCut ? `${text.slice(0, shownAtFirst)}…` : text}
      </pre>
      {isCut && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  )
}
