import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { harmlessLines } from '../../base/terminal-text.ts'
import { type DiffCell, type DiffLine, splitDiff } from '../data/split-diff.ts'

const shownAtFirst = 400

interface DiffTableProps {
  readonly diff: string
  /** Called when all of it is shown. */
  readonly onWhole?: () => void
}

/** A unified diff of one file, shown side by side, or stacked on narrow screens. */
export function DiffTable({ diff, onWhole }: DiffTableProps): VNode {
  const { lines } = useMemo(() => splitDiff(diff), [diff])
  const [shown, setShown] = useState(shownAtFirst)
  const left = lines.length - shown
  useEffect(() => {
    if (left <= 0) onWhole?.()
  }, [left <= 0])
  return (
    <div class="diff" role="region" aria-label="Changed lines" tabIndex={0}>
      {lines.slice(0, shown).map((line, index) => (
        <Line key={index} line={line} />
      ))}
      {left > 0 && (
        <button type="button" onClick={() => setShown(shown + 10 * shownAtFirst)}>
          Show more ({left} lines left)
        </button>
      )}
    </div>
  )
}

function Line({ line }: { readonly line: DiffLine }): VNode {
  switch (line.kind) {
    case 'hunk':
    case 'note':
      return <div class={`diff-${line.kind}`}>{line.text}</div>
    case 'same':
      return (
        <div class="diff-line same">
          <Side cell={line.before} />
          <Side cell={line.after} />
        </div>
      )
    case 'changed':
      return (
        <div class="diff-line">
          <Side cell={line.before} tone="removed" />
          <Side cell={line.after} tone="added" />
        </div>
      )
  }
}

interface SideProps {
  readonly cell: DiffCell | undefined
  readonly tone?: 'added' | 'removed'
}

function Side({ cell, tone }: SideProps): VNode {
  if (cell === undefined) return <div class="diff-side none" />
  return (
    <div class={`diff-side ${tone ?? ''}`}>
      <span class="line-number">{cell.number}</span>
      {tone !== undefined && <span class="hidden">{tone}: </span>}
      <code>{cell.text === '' ? ' ' : harmlessLines(cell.text)}</code>
    </div>
  )
}
