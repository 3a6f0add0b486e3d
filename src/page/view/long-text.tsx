import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

const shownAtFirst = 20_000

/** A preformatted text. If it is very long, it is truncated until the user asks for the rest. */
export function LongText({ text }: { readonly text: string }): VNode {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && text.length > shownAtFirst
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
