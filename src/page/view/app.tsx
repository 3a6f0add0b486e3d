import type { VNode } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { openApiDescription } from '../live/api.ts'
import { above, hashOf, parseHash, type Route } from '../route.ts'
import { CompareView } from './compare-view.tsx'
import { ConversationView } from './conversation-view.tsx'
import { ConversationsView } from './conversations-view.tsx'
import { FileView } from './file-view.tsx'
import { FilesView } from './files-view.tsx'
import { NoticeBoard, useNotice } from './notice.tsx'
import { RunView } from './run-view.tsx'
import { RunFormView } from './run-form-view.tsx'
import { RunsView, type RunsViewProps } from './runs-view.tsx'
import { everyRun, type RunFilter } from '../data/run-list.ts'
import { TriggersView } from './triggers-view.tsx'
import { isSignedIn, onSession } from '../live/session.ts'
import { InboxContext, usePolledInbox } from '../live/use-inbox.ts'
import { InboxView } from './inbox-view.tsx'

/** The page: a navigation bar, and the view for the current address. */
export function App(): VNode {
  const [route, setRoute] = useState(() => parseHash(location.hash))
  const [active, setActive] = useState(0)
  const isIn = useSignedIn()
  const inbox = usePolledInbox(isIn)
  const left = useRef<RunFilter>(everyRun)
  if (route.kind === 'runs') left.current = route.filter ?? everyRun
  // back to the list as it was left
  const go = useCallback(
    (to: Route) =>
      void (location.hash = hashOf(to.kind === 'runs' ? { ...to, filter: to.filter ?? left.current } : to)),
    [],
  )
  const onFilter = useCallback((filter: RunFilter) => {
    const changed: Route = { kind: 'runs', filter }
    // each letter of a search is no step back
    history.replaceState(null, '', hashOf(changed))
    setRoute(changed)
  }, [])

  useEffect(() => {
    const follow = (): void => setRoute(parseHash(location.hash))
    addEventListener('hashchange', follow)
    // the hash may have changed before the listener was added
    follow()
    return () => removeEventListener('hashchange', follow)
  }, [])
  const { count, workspace } = inbox
  useEffect(() => {
    const place = workspace === undefined ? 'Baton' : `${workspace.name} · Baton`
    document.title = `${count > 0 ? `(${count}) ` : ''}${titleOf(route)} · ${place}`
  }, [route, count, workspace])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea')
      if (event.key === '/' && !isTyping) {
        event.preventDefault()
        document.querySelector<HTMLElement>('#search')?.focus()
      } else if (event.key === 'Escape') {
        const to = above(route)
        if (isTyping) focusContent(event.target)
        else if (to !== undefined) go(to)
      } else if (event.key === 'ArrowDown' && event.target instanceof HTMLElement && event.target.id === 'search') {
        event.preventDefault()
        focusContent(event.target)
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [route, go])

  const part = partOf(route)
  return (
    <InboxContext.Provider value={inbox}>
      <NoticeBoard>
        <header class="bar">
          <span class="brand" title={workspace?.folder}>
            {workspace?.name ?? 'Baton'}
          </span>
          <nav aria-label="Main">
            {parts.map(({ kind, name }) => (
              <a key={kind} href={hashOf({ kind })} {...(kind === part && { 'aria-current': 'page' })}>
                {name} {kind === 'inbox' && count > 0 && <span class="badge-count">{count}</span>}
              </a>
            ))}
          </nav>
          {isIn && <ApiButton />}
          <ThemeSwitch />
        </header>
        <main>
          {isIn ? (
            <Content route={route} go={go} active={active} onActive={setActive} onFilter={onFilter} />
          ) : (
            <SignedOut />
          )}
        </main>
      </NoticeBoard>
    </InboxContext.Provider>
  )
}

function ApiButton(): VNode {
  const { complain } = useNotice()
  return (
    <button
      type="button"
      class="quiet"
      title="Show the HTTP API"
      onClick={() => void openApiDescription().catch(complain)}
    >
      API
    </button>
  )
}

/** The entries of the navigation bar. */
const parts = [
  { kind: 'inbox', name: 'Inbox' },
  { kind: 'runs', name: 'Runs' },
  { kind: 'conversations', name: 'Conversations' },
  { kind: 'files', name: 'Prompt files' },
  { kind: 'triggers', name: 'Triggers' },
] as const

function partOf({ kind }: Route): (typeof parts)[number]['kind'] {
  if (kind === 'inbox' || kind === 'triggers') return kind
  if (kind === 'file' || kind === 'files' || kind === 'new') return 'files'
  return kind === 'conversation' || kind === 'conversations' ? 'conversations' : 'runs'
}

interface ContentProps extends Omit<RunsViewProps, 'filter'> {
  readonly route: Route
}

function Content({ route, go, ...list }: ContentProps): VNode {
  switch (route.kind) {
    case 'runs':
      return <RunsView filter={route.filter ?? everyRun} go={go} {...list} />
    case 'inbox':
      return <InboxView />
    case 'new':
      return <RunFormView key={hashOf(route)} file={route.file} from={route.from} go={go} />
    case 'run':
      return <RunView key={route.id} id={route.id} tab={route.tab} go={go} />
    case 'compare':
      return <CompareView before={route.before} after={route.after} go={go} />
    case 'files':
      return <FilesView />
    case 'file':
      return <FileView key={route.path} path={route.path} go={go} />
    case 'triggers':
      return <TriggersView go={go} />
    case 'conversations':
      return <ConversationsView go={go} />
    case 'conversation':
      return <ConversationView key={route.id} id={route.id} go={go} />
  }
}

function titleOf(route: Route): string {
  switch (route.kind) {
    case 'runs':
      return 'Runs'
    case 'inbox':
      return 'Inbox'
    case 'run':
      return route.id
    case 'compare':
      return 'Compare'
    case 'new':
      return `Run ${route.file}`
    case 'files':
      return 'Prompt files'
    case 'file':
      return route.path
    case 'triggers':
      return 'Triggers'
    case 'conversations':
    case 'conversation':
      return 'Conversations'
  }
}

/** Moves focus from a field to the list below it. */
function focusContent(from: EventTarget | null): void {
  const grid = document.querySelector<HTMLElement>('.grid-body')
  if (grid !== null) grid.focus()
  else if (from instanceof HTMLElement) from.blur()
}

const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const storeKey = 'baton.theme'

/** Switches between the system, light and dark themes. The choice is kept in this browser. */
function ThemeSwitch(): VNode {
  const [theme, setTheme] = useState<Theme>(
    () => themes.find((one) => one === localStorage.getItem(storeKey)) ?? 'auto',
  )
  useEffect(() => {
    localStorage.setItem(storeKey, theme)
    if (theme === 'auto') document.documentElement.removeAttribute('data-theme')
    else document.documentElement.setAttribute('data-theme', theme)
  }, [theme])
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto'
  return (
    <button
      type="button"
      class="quiet"
      title={`Switch to ${next}`}
      aria-label={`Theme: ${theme}. Switch to ${next}`}
      onClick={() => setTheme(next)}
    >
      {theme === 'auto' ? '◐' : theme === 'light' ? '○' : '●'} {theme}
    </button>
  )
}

/** Whether this page has a token. It changes when the server does not accept it, or another page gets a new one. */
function useSignedIn(): boolean {
  const [is, setIs] = useState(isSignedIn)
  useEffect(() => onSession(() => setIs(isSignedIn())), [])
  return is
}

/** What a page without a token shows, for example after a restart of the server. */
function SignedOut(): VNode {
  return (
    <div class="empty" role="alert">
      <h1>This page needs a new address</h1>
      <p>
        Press Enter in the terminal in which <code>baton serve</code> is running, and open the address that it prints.
        Each address opens the page once, and a restarted server needs a new one.
      </p>
    </div>
  )
}
