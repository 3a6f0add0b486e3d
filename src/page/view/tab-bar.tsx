import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { rowAfterKey } from '../data/window.ts'
import type { Tab } from '../route.ts'

interface TabBarProps {
  readonly tabs: readonly Tab[]
  readonly chosen: Tab
  readonly onChoose: (tab: Tab) => void
}

const names: Readonly<Record<Tab, string>> = {
  answer: 'Answer',
  tree: 'Tree',
  waterfall: 'Waterfall',
  changes: 'Changes',
  charts: 'Charts',
  iterations: 'Iterations',
  team: 'Team',
  workflow: 'Workflow',
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
    bar.current?.querySelector<HTMLElement>(`#tab-${tab}`)?.focus()
  }
  return (
    <div ref={bar} class="tabs" role="tablist" aria-label="Run views" onKeyDown={move}>
      {all.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === chosen}
          {...(tab === chosen && { 'aria-controls': `panel-${tab}` })}
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => onChoose(tab)}
        >
          {names[tab]}
        </button>
      ))}
    </div>
  )
}
