import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { costText, countText, durationText, numberOf, splitPath, whenText } from '../data/format.ts'
import { metricsOf } from '../data/run-metrics.ts'
import { fetchComparison } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { Comparison, RunSummary, ShownDifference } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { DiffTable } from './diff-table.tsx'
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
      <Metrics comparison={comparison} />
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

function Metrics({ comparison }: { readonly comparison: Comparison }): VNode {
  return (
    <table class="metrics">
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col" class="number">
            Before
          </th>
          <th scope="col" class="number">
            After
          </th>
          <th scope="col" class="number">
            Change
          </th>
        </tr>
      </thead>
      <tbody>
        {metricsOf(comparison).map(({ name, before, after, change, isBetter }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{before}</td>
            <td class="number">{after}</td>
            <td class={`number ${isBetter === undefined ? '' : isBetter ? 'good' : 'bad'}`}>{change}</td>
          </tr>
        ))}
      </tbody>
    </table>
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
      <p class="about">{[whenText(run.started), ...run.models].join(' · ')}</p>
      <button type="button" onClick={() => go({ kind: 'run', id: run.id, tab: 'answer' })}>
        Open {run.id}
      </button>
    </article>
  )
}

function OneDifference({ difference }: { readonly difference: ShownDifference }): VNode {
  const { kind, place, before, after, diff, spent } = difference
  return (
    <article class="difference" aria-label={`${kind} at ${place}`}>
      <h3>
        <span class="tag">{kind}</span> <code>{place}</code>
      </h3>
      {spent !== undefined && (
        <div class="sides about">
          <span>{spentText(spent.before)}</span>
          <span>{spentText(spent.after)}</span>
        </div>
      )}
      {diff === null ? (
        <div class="sides">
          <SideText text={before} tone="removed" />
          <SideText text={after} tone="added" />
        </div>
      ) : (
        <DiffTable diff={diff.startsWith('@@') ? diff : `@@ -1 +1 @@\n${diff}`} />
      )}
    </article>
  )
}

/** What the call of an answer took. */
function spentText(spent: NonNullable<ShownDifference['spent']>['before']): string {
  if (spent === null) return ''
  const { duration_ms: took, tokens, cost_usd: cost } = spent
  return [
    ...(took === null ? [] : [durationText(took)]),
    `${countText(tokens.input + tokens.output)} tokens`,
    costText(cost),
  ].join(' · ')
}

function SideText({ text, tone }: { readonly text: string | null; readonly tone: 'added' | 'removed' }): VNode {
  return (
    <div class={`side-text ${tone}`}>
      {text === null ? <p class="empty">Not in this run.</p> : <LongText text={text} />}
    </div>
  )
}
