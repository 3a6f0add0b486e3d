import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { costText, countText, durationText, numberOf, splitPath, whenText } from '../data/format.ts'
import { fetchComparison } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { Comparison, Difference, RunSummary } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { Loading } from './loading.tsx'
import { LongText } from './long-text.tsx'
import { StateBadge } from './state-badge.tsx'

interface CompareViewProps {
  readonly before: string
  readonly after: string
  readonly go: (route: Route) => void
}

/** The differences between two runs, by place. */
export function CompareView({ before, after, go }: CompareViewProps): VNode {
  const [loaded] = useLoaded(`${before} ${after}`, () => fetchComparison(before, after))
  return (
    <section class="view scroll" aria-label="Compare runs">
      <div class="title">
        <button type="button" class="quiet back" aria-label="Back to runs" onClick={() => go({ kind: 'runs' })}>
          ←
        </button>
        <h1>Compare runs</h1>
        <button type="button" onClick={() => go({ kind: 'compare', before: after, after: before })}>
          Swap
        </button>
      </div>
      <Loading loaded={loaded}>{(comparison) => <Differences comparison={comparison} go={go} />}</Loading>
    </section>
  )
}

const shownAtFirst = 100

function Differences({
  comparison,
  go,
}: {
  readonly comparison: Comparison
  readonly go: CompareViewProps['go']
}): VNode {
  const { before, after, differences } = comparison
  const [shown, setShown] = useState(shownAtFirst)
  const left = differences.length - shown
  return (
    <>
      <div class="sides">
        <Side run={before} title="Before" go={go} />
        <Side run={after} title="After" go={go} />
      </div>
      <h2>{differences.length === 0 ? 'No differences' : numberOf(differences.length, 'difference')}</h2>
      {differences.slice(0, shown).map((difference, index) => (
        <OneDifference key={index} difference={difference} />
      ))}
      {left > 0 && (
        <button type="button" onClick={() => setShown(shown + 10 * shownAtFirst)}>
          Show more ({left} left)
        </button>
      )}
    </>
  )
}

interface SideProps {
  readonly run: RunSummary
  readonly title: string
  readonly go: CompareViewProps['go']
}

function Side({ run, title, go }: SideProps): VNode {
  return (
    <article class="side" aria-label={title}>
      <h2>
        {title}: {splitPath(run.file).name} <StateBadge state={run.status} />
      </h2>
      <p class="about">
        {[
          whenText(run.started),
          durationText(run.duration_ms),
          costText(run.cost_usd),
          `${countText(run.tokens.input + run.tokens.output)} tokens`,
          numberOf(run.calls, 'call'),
          run.models.join(', '),
        ].join(' · ')}
      </p>
      <button type="button" onClick={() => go({ kind: 'run', id: run.id, tab: 'answer' })}>
        Open {run.id}
      </button>
    </article>
  )
}

function OneDifference({ difference }: { readonly difference: Difference }): VNode {
  const { kind, place, before, after } = difference
  return (
    <article class="difference" aria-label={`${kind} at ${place}`}>
      <h3>
        <span class="tag">{kind}</span> <code>{place}</code>
      </h3>
      <div class="sides">
        <SideText text={before} tone="removed" />
        <SideText text={after} tone="added" />
      </div>
    </article>
  )
}

function SideText({ text, tone }: { readonly text: string | null; readonly tone: 'added' | 'removed' }): VNode {
  return (
    <div class={`side-text ${tone}`}>
      {text === null ? <p class="empty">Not in this run.</p> : <LongText text={text} />}
    </div>
  )
}
