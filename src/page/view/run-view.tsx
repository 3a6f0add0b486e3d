import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { useRun } from '../live/use-run.ts'
import type { Route } from '../route.ts'
import { isActive } from '../../journal/summary.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { PlacePanel } from './place-panel.tsx'
import { RunHeader } from './run-header.tsx'
import { firstTab, runTabs } from './run-tabs.tsx'
import { TabBar } from './tab-bar.tsx'
import { useNow } from './use-now.ts'
import { Waiting } from './waiting.tsx'

interface RunViewProps {
  readonly id: string
  /** The id of its panel; the first one if it is unknown. */
  readonly tab: string
  readonly go: (route: Route) => void
}

/** A live view of a run: pending approvals, answers, and everything it does. */
export function RunView({ id, tab, go }: RunViewProps): VNode {
  const live = useRun(id)
  const [place, setPlace] = useState<string>()
  const { detail, error, rows, tree, texts, version } = live
  const goesOn = detail !== undefined && isActive(detail.run.status)
  const now = useNow(goesOn)
  const shown = useMemo(() => runTabs.filter(({ isShown }) => isShown === undefined || isShown(rows)), [version])
  const chosen = runTabs.find((one) => one.id === tab) ?? firstTab

  if (detail === undefined) {
    return (
      <section class="view">
        {error === undefined ? (
          <p class="empty">Loading…</p>
        ) : (
          <p class="empty problem" role="alert">
            {error}
          </p>
        )}
      </section>
    )
  }
  return (
    <section class="view run" aria-label={`Run ${id}`}>
      <ConnectionBanner stream={live.stream} />
      <RunHeader detail={detail} now={now} reload={live.reload} follow={live.follow} go={go} />
      <Waiting detail={detail} onAnswered={live.reload} onResumed={live.follow} />
      <TabBar tabs={shown} chosen={chosen} onChoose={(to) => go({ kind: 'run', id, tab: to.id })} />
      <div class="split">
        <div class="panel" role="tabpanel" tabIndex={0} id={`panel-${chosen.id}`} aria-labelledby={`tab-${chosen.id}`}>
          <chosen.Panel
            run={id}
            detail={detail}
            status={detail.run.status}
            rows={rows}
            tree={tree}
            texts={texts}
            version={version}
            now={now}
            onPlace={setPlace}
            go={go}
          />
        </div>
        {place !== undefined && chosen.hasPlaces === true && (
          <PlacePanel run={id} place={place} version={version} onClose={() => setPlace(undefined)} />
        )}
      </div>
    </section>
  )
}
