import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { rowAfterKey } from '../data/window.ts'
import type { RunTab } from './run-tabs.tsx'

interface TabBarProps {
  readonly tabs: readonly RunTab[]
  readonly chosen: RunTab
  readonly onChoose: (tab: RunTab) => void
}

const asRows: Readonly<Record<string, string>> = {
  ArrowRight: 'ArrowDown',
  ArrowLeft: 'ArrowUp',
  Home: 'Home',
  End: 'End',
}

/** The tabs of a run. The left and right arrow keys move between them. */
export function TabBar({ tabs, chosen, onChoose }: TabBarProps): VNode {
  const bar = useRef<HTMLDivElement>(null)
  const all = tabs.includes(chosen) ? tabs : [...tabs, chosen]
  function move(event: KeyboardEvent): void {
    const next = rowAfterKey(asRows[event.key] ?? '', all.indexOf(chosen), all.length, 1)
    const tab = next === undefined ? undefined : all[next]
    if (tab === undefined) return
    event.preventDefault()
    onChoose(tab)
    bar.current?.querySelector<HTMLElement>(`#tab-${tab.id}`)?.focus()
  }
  return (
    <div ref={bar} class="tabs" role="tablist" aria-label="Run views" onKeyDown={move}>
      {all.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`tab-${tab.id}`}
          aria-selected={tab === chosen}
          {...(tab === chosen && { 'aria-controls': `panel-${tab.id}` })}
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => onChoose(tab)}
        >
          {tab.name}
        </button>
      ))}
    </div>
  )
}
