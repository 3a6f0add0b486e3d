import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { splitPath, whenText } from '../data/format.ts'
import { fetchRun } from '../live/api.ts'
import { notifyState, switchNotifications } from '../live/notifications.ts'
import { countOf, useInbox } from '../live/use-inbox.ts'
import { useChange, useLoaded } from '../live/use-loaded.ts'
import type { InboxItem } from '../live/wire.ts'
import { hashOf } from '../route.ts'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'
import { useAnswerKeys } from './use-answer-keys.ts'
import { Waiting } from './waiting.tsx'

/** Runs that are shown whole. The others follow when these are answered. */
const mostShown = 20

/** All that waits for the person, in all runs, with what is needed to answer it. */
export function InboxView(): VNode {
  const { items, workspace } = useInbox()
  const box = useRef<HTMLDivElement>(null)
  useAnswerKeys(box, items.length > 0)
  const more = items.length - mostShown
  return (
    <section class="view scroll" aria-label="Inbox">
      <div class="title">
        <h1>Inbox</h1>
        <NotifyButton />
      </div>
      {items.length === 0 && <p class="empty">{workspace === undefined ? 'Loading…' : 'Nothing waits for you.'}</p>}
      <div ref={box}>
        {items.slice(0, mostShown).map((item) => (
          <InboxRun key={item.run.id} item={item} />
        ))}
      </div>
      {more > 0 && <p class="about">And {more} more, which follow when these are answered.</p>}
    </section>
  )
}

function InboxRun({ item }: { readonly item: InboxItem }): VNode {
  const { run } = item
  const { folder, name } = splitPath(run.name ?? run.file)
  const [loaded, again] = useLoaded(run.id, () => fetchRun(run.id))
  useChange(`${run.status}/${countOf(item)}`, again)
  return (
    <article class="inbox-run" aria-label={`${run.name ?? run.file} waits`}>
      <h2>
        <StateBadge state={stateOf(run)} />{' '}
        <a href={hashOf({ kind: 'run', id: run.id, tab: 'answer' })}>{run.chat === undefined ? name : run.name}</a>{' '}
        <span class="about">
          {run.chat === undefined ? folder : 'chat'} started {whenText(run.started)}
        </span>
      </h2>
      <Loading loaded={loaded}>{(detail) => <Waiting detail={detail} onAnswered={again} isPart />}</Loading>
    </article>
  )
}

/** Turns notifications of the browser on or off. Nothing is asked before it is clicked. */
function NotifyButton(): VNode | null {
  const [state, setState] = useState(notifyState)
  const { complain } = useNotice()
  if (state === 'no') return null
  return (
    <button
      type="button"
      aria-pressed={state === 'on'}
      title="The browser says when a run begins to wait for you"
      onClick={() => void switchNotifications().then(setState, complain)}
    >
      {state === 'on' ? 'Notifications are on' : 'Notify me'}
    </button>
  )
}
