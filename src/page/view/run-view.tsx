import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { iterationRows } from '../data/iterations.ts'
import { workflowSteps } from '../data/workflow-layers.ts'
import { resumeRun } from '../live/api.ts'
import { type LiveRun, useRun } from '../live/use-run.ts'
import type { Route, Tab } from '../route.ts'
import { AnswersTab } from './answers-tab.tsx'
import { ApprovalCard } from './approval-card.tsx'
import { ChangesTab } from './changes-tab.tsx'
import { ChartsTab } from './charts-tab.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { IterationsTab } from './iterations-tab.tsx'
import { useNotice } from './notice.tsx'
import { PlacePanel } from './place-panel.tsx'
import { RunHeader } from './run-header.tsx'
import { TabBar } from './tab-bar.tsx'
import { TeamTab } from './team-tab.tsx'
import { TreeTab } from './tree-tab.tsx'
import { useNow } from './use-now.ts'
import { WaterfallTab } from './waterfall-tab.tsx'
import { WorkflowTab } from './workflow-tab.tsx'

interface RunViewProps {
  readonly id: string
  readonly tab: Tab
  readonly go: (route: Route) => void
}

/** A live view of a run: pending approvals, answers, and everything it does. */
export function RunView({ id, tab, go }: RunViewProps): VNode {
  const live = useRun(id)
  const [place, setPlace] = useState<string>()
  const { complain } = useNotice()
  const { detail, error, rows, version } = live
  const goesOn = detail?.run.status === 'running'
  const now = useNow(goesOn)
  const shown = useMemo(() => shownTabs(live), [version])

  /** A suspended run is resumed after its last approval is answered; an active run continues automatically. */
  const decided = (): void => {
    if (detail === undefined || detail.run.status === 'running' || detail.approvals.length > 1) live.reload()
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
      <div class="approvals" role="region" aria-label="Pending approvals" aria-live="polite">
        {detail.approvals.map((approval) => (
          <ApprovalCard key={approval.id} run={id} approval={approval} onDecided={decided} />
        ))}
      </div>
      <TabBar tabs={shown} chosen={tab} onChoose={(chosen) => go({ kind: 'run', id, tab: chosen })} />
      <div class="split">
        <div class="panel" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
          <TabContent live={live} id={id} tab={tab} now={now} onPlace={setPlace} rows={rows} go={go} />
        </div>
        {place !== undefined && (tab === 'tree' || tab === 'waterfall') && (
          <PlacePanel run={id} place={place} version={version} onClose={() => setPlace(undefined)} />
        )}
      </div>
    </section>
  )
}

/** The tabs that have content. */
function shownTabs({ rows }: LiveRun): readonly Tab[] {
  const always: readonly Tab[] = ['answer', 'tree', 'waterfall', 'changes', 'charts']
  const isTeam = rows.some(({ place }) => /\/tool\/\d+:(?:spawn_agent|task)(?:[/#]|$)/.test(place))
  return [
    ...always,
    ...(iterationRows(rows).length > 0 ? (['iterations'] as const) : []),
    ...(isTeam ? (['team'] as const) : []),
    ...(workflowSteps(rows).length > 0 ? (['workflow'] as const) : []),
  ]
}

interface TabContentProps {
  readonly live: LiveRun
  readonly id: string
  readonly tab: Tab
  /** Milliseconds since 1970. */
  readonly now: number
  readonly rows: LiveRun['rows']
  readonly onPlace: (place: string) => void
  readonly go: (route: Route) => void
}

function TabContent({ live, id, tab, now, rows, onPlace, go }: TabContentProps): VNode | null {
  const { detail, tree, version, texts } = live
  switch (tab) {
    case 'answer':
      return detail === undefined ? null : <AnswersTab detail={detail} texts={texts} />
    case 'tree':
      return <TreeTab tree={tree} version={version} now={now} onPlace={onPlace} />
    case 'waterfall':
      return <WaterfallTab rows={rows} version={version} now={now} onPlace={onPlace} />
    case 'changes':
      return <ChangesTab run={id} status={detail?.run.status ?? ''} go={go} />
    case 'charts':
      return <ChartsTab rows={rows} version={version} />
    case 'iterations':
      return <IterationsTab rows={rows} version={version} now={now} />
    case 'team':
      return <TeamTab run={id} version={version} />
    case 'workflow':
      return <WorkflowTab rows={rows} version={version} now={now} />
  }
}
