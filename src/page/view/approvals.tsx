import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ApprovalView } from '../live/wire.ts'
import { ApprovalCard } from './approval-card.tsx'
import { Markdown } from './markdown.tsx'

interface ApprovalsProps {
  readonly run: string
  readonly approvals: readonly ApprovalView[]
  /** Called after each decision with the number of calls that the run still waits for. */
  readonly onDecided: (left: number) => void
}

/**
 * The calls of a run that wait for approval, beside what the answer says about them. Keys: `y` and `n` decide about the
 * selected call, `a` approves all that are shown as a whole. The first key only selects, because it may have been meant
 * for something else.
 */
export function Approvals({ run, approvals, onDecided }: ApprovalsProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const last = useRef<Promise<void>>(Promise.resolve())
  const isEmpty = approvals.length === 0

  useEffect(() => {
    if (isEmpty) return undefined
    const onKey = (event: KeyboardEvent): void => {
      if (!['y', 'n', 'a'].includes(event.key) || !isPlain(event)) return
      const cards = [...(box.current?.querySelectorAll<HTMLElement>('.approval') ?? [])]
      const at = cards.findIndex((card) => card.contains(document.activeElement))
      event.preventDefault()
      if (at === -1) return select(cards[0])
      const chosen = event.key === 'a' ? cards : cards.slice(at, at + 1)
      for (const card of chosen)
        card.querySelector<HTMLButtonElement>(event.key === 'n' ? '.danger' : '.primary')?.click()
      select(cards[at + 1])
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [isEmpty])

  /** Answers one after the other: each is recorded by itself. */
  const inTurn = (work: () => Promise<void>): Promise<void> => (last.current = last.current.then(work))
  const explanations = [...new Set(approvals.flatMap(({ review }) => review?.explanation ?? []))]

  return (
    <div
      ref={box}
      class={explanations.length === 0 ? 'approvals' : 'approvals explained'}
      role="region"
      aria-label="Pending approvals"
      aria-live="polite"
    >
      {explanations.length > 0 && (
        <aside aria-label="What the answer says">
          {explanations.map((text) => (
            <Markdown key={text} text={text} />
          ))}
        </aside>
      )}
      <div class="calls">
        {approvals.length > 1 && <p class="about keys">y approves the selected call, n rejects it, a approves all</p>}
        {approvals.map((approval) => (
          <ApprovalCard key={approval.id} run={run} approval={approval} onDecided={onDecided} inTurn={inTurn} />
        ))}
      </div>
    </div>
  )
}

function select(card: HTMLElement | undefined): void {
  card?.focus()
  card?.scrollIntoView({ block: 'nearest' })
}

/** Whether a key was pressed once, alone, and not to type text. */
function isPlain({ repeat, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  const isTyped = target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
  return !repeat && !ctrlKey && !metaKey && !altKey && !isTyped
}
