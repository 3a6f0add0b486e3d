import type { ComponentChildren, VNode } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { rowAfterKey, rowsIn, topFor, type Viewport } from '../data/window.ts'

export interface VirtualGridProps {
  /** The accessible name. */
  readonly label: string
  readonly role: 'grid' | 'treegrid'
  readonly className: string
  readonly count: number
  readonly rowHeight: number
  readonly head?: VNode
  /** The selected row; the last one if there are fewer now. */
  readonly active: number
  readonly onActive: (index: number) => void
  readonly onOpen: (index: number) => void
  /** A key on the selected row. @returns whether it was handled */
  readonly onKey?: (key: string, index: number) => boolean
  readonly onShown?: (first: number, end: number) => void
  readonly renderRow: (index: number) => GridRow
  /** Called when the last rows are about to become visible. */
  readonly onNearEnd?: () => void
  readonly hasFocus?: boolean
}

/** The contents of a row and its ARIA attributes. */
export interface GridRow {
  readonly key: string | number
  readonly cells: ComponentChildren
  readonly className?: string
  readonly level?: number
  readonly position?: number
  readonly siblings?: number
  readonly expanded?: boolean
}

const nearEnd = 30

/** A long list that renders only the visible rows. The arrow keys move in it; Enter opens a row. */
export function VirtualGrid(props: VirtualGridProps): VNode {
  const { label, role, className, count, rowHeight, head, onActive, onOpen, onKey, renderRow } = props
  const { onNearEnd, onShown, hasFocus = false } = props
  const active = Math.min(props.active, count - 1)
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<Viewport>({ top: 0, height: 600 })
  const id = useRef(`grid-${Math.random().toString(36).slice(2)}`).current

  const measure = useCallback(() => {
    const { current } = box
    if (current !== null) setView({ top: current.scrollTop, height: current.clientHeight })
  }, [])
  useLayoutEffect(() => {
    const { current } = box
    if (current === null) return undefined
    const observer = new ResizeObserver(measure)
    observer.observe(current)
    return () => observer.disconnect()
  }, [measure])
  useEffect(() => {
    // do not take the focus away from a field
    if (hasFocus && document.activeElement === document.body) box.current?.focus({ preventScroll: true })
  }, [hasFocus])

  const { first, end } = rowsIn(view, rowHeight, count)
  useEffect(() => {
    if (end > count - nearEnd) onNearEnd?.()
  }, [end, count, onNearEnd])
  useEffect(() => onShown?.(first, end), [first, end, onShown])

  function move(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== box.current) return
    const next = rowAfterKey(event.key, active, count, Math.max(1, Math.floor(view.height / rowHeight) - 1))
    if (next !== undefined) {
      onActive(next)
      box.current?.scrollTo({ top: topFor(next, shownOf(box.current), rowHeight) })
    } else if (event.key === 'Enter' && active >= 0) onOpen(active)
    else if (onKey?.(event.key, active) !== true) return
    event.preventDefault()
  }

  const indexes = Array.from({ length: end - first }, (_, index) => first + index)
  const isActiveShown = active >= first && active < end
  return (
    <div class={`grid ${className}`}>
      {head !== undefined && (
        <div class="grid-head" aria-hidden="true">
          {head}
        </div>
      )}
      <div
        ref={box}
        class="grid-body"
        role={role}
        aria-label={label}
        aria-rowcount={count}
        tabIndex={0}
        {...(isActiveShown && { 'aria-activedescendant': `${id}-${active}` })}
        onScroll={measure}
        onKeyDown={move}
      >
        <div class="grid-rows" role="rowgroup" style={{ height: `${count * rowHeight}px` }}>
          {indexes.map((index) => {
            const row = renderRow(index)
            return (
              <div
                key={row.key}
                id={`${id}-${index}`}
                role="row"
                class={`grid-row ${row.className ?? ''} ${index === active ? 'active' : ''}`}
                aria-rowindex={index + 1}
                aria-selected={index === active}
                aria-level={row.level}
                aria-posinset={row.position}
                aria-setsize={row.siblings}
                aria-expanded={row.expanded}
                style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
                onClick={() => {
                  onActive(index)
                  onOpen(index)
                }}
              >
                {row.cells}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

function shownOf({ scrollTop, clientHeight }: HTMLElement): Viewport {
  return { top: scrollTop, height: clientHeight }
}
