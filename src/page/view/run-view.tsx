import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { resumeRun } from '../live/api.ts'
import { useRun } from '../live/use-run.ts'
import type { Route } from '../route.ts'
import { Approvals } from './approvals.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { useNotice } from './notice.tsx'
import { PlacePanel } from './place-panel.tsx'
import { RunHeader } from './run-header.tsx'
import { firstTab, runTabs } from './run-tabs.tsx'
import { TabBar } from './tab-bar.tsx'
import { useNow } from './use-now.ts'

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
  const { complain } = useNotice()
  const { detail, error, rows, tree, texts, version } = live
  const goesOn = detail?.run.status === 'running'
  const now = useNow(goesOn)
  const shown = useMemo(() => runTabs.filter(({ isShown }) => isShown === undefined || isShown(rows)), [version])
  const chosen = runTabs.find((one) => one.id === tab) ?? firstTab

  /** A suspended run is resumed after its last approval is answered; an active run continues automatically. */
  const decided = (left: number): void => {
    if (detail === undefined || detail.run.status === 'running' || left > 0) live.reload()
    else resumeRun(id).then(live.follow, complain)
  }

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
      <Approvals run={id} approvals={detail.approvals} onDecided={decided} />
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
