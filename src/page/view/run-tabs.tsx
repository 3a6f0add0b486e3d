import type { VNode } from 'preact'
import { iterationRows } from '../data/iterations.ts'
import { workflowSteps } from '../data/workflow-layers.ts'
import type { LiveRun } from '../live/use-run.ts'
import type { RunDetail } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { AnswersTab } from './answers-tab.tsx'
import { ChangesTab } from './changes-tab.tsx'
import { ChartsTab } from './charts-tab.tsx'
import { IterationsTab } from './iterations-tab.tsx'
import { ReportTab } from './report-tab.tsx'
import { TeamTab } from './team-tab.tsx'
import { TreeTab } from './tree-tab.tsx'
import { WaterfallTab } from './waterfall-tab.tsx'
import { WorkflowTab } from './workflow-tab.tsx'

/** What a panel may show. Each takes the part that it needs. */
interface PanelProps extends Pick<LiveRun, 'rows' | 'tree' | 'version' | 'texts'> {
  /** The id of the run. */
  readonly run: string
  readonly detail: RunDetail
  /** Of the run. */
  readonly status: RunDetail['run']['status']
  /** Milliseconds since 1970. */
  readonly now: number
  /** Shows the details of a place beside the panel. */
  readonly onPlace: (place: string) => void
  readonly go: (route: Route) => void
}

/** A panel of the view of a run, with its tab. */
export interface RunTab {
  /** In the address of the panel. */
  readonly id: string
  /** For users. */
  readonly name: string
  readonly Panel: (props: PanelProps) => VNode | null
  /** Whether the run has something for it. Omitted: always. */
  readonly isShown?: (rows: LiveRun['rows']) => boolean
  /** Whether the details of a place can stand beside it. */
  readonly hasPlaces?: true
}

/** The panel without a word in the address. */
export const firstTab: RunTab = { id: 'answer', name: 'Answer', Panel: AnswersTab, hasPlaces: true }

/** All panels, in the order of their tabs. */
export const runTabs: readonly RunTab[] = [
  firstTab,
  { id: 'tree', name: 'Tree', Panel: TreeTab, hasPlaces: true },
  { id: 'waterfall', name: 'Waterfall', Panel: WaterfallTab, hasPlaces: true },
  { id: 'changes', name: 'Changes', Panel: ChangesTab },
  { id: 'charts', name: 'Charts', Panel: ChartsTab },
  { id: 'report', name: 'Report', Panel: ReportTab },
  { id: 'iterations', name: 'Iterations', Panel: IterationsTab, isShown: (rows) => iterationRows(rows).length > 0 },
  { id: 'team', name: 'Team', Panel: TeamTab, isShown: hasTeam },
  { id: 'workflow', name: 'Workflow', Panel: WorkflowTab, isShown: (rows) => workflowSteps(rows).length > 0 },
]

function hasTeam(rows: LiveRun['rows']): boolean {
  return rows.some(({ place }) => /\/tool\/\d+:(?:spawn_agent|task)(?:[/#]|$)/.test(place))
}
