import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { durationText } from '../data/format.ts'
import { durationOf, type Row } from '../data/row.ts'
import { layersOf, stepId, workflowSteps } from '../data/workflow-layers.ts'
import { StateBadge, toneClass } from './state-badge.tsx'

interface WorkflowTabProps {
  readonly rows: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The steps of a workflow from left to right in order of time. Steps in a column ran at the same time. */
export function WorkflowTab({ rows, version, now }: WorkflowTabProps): VNode {
  const layers = useMemo(() => layersOf(workflowSteps(rows), now), [rows, version, now])
  return (
    <ol class="workflow" aria-label="Steps of the workflow">
      {layers.map((steps, index) => (
        <li key={index} class="layer">
          <ul>
            {steps.map((step) => (
              <li key={step.n} class={`step ${toneClass(step.state)}`}>
                <strong>{stepId(step)}</strong>
                <StateBadge state={step.state} />
                {step.text !== '' && <span class="about">{step.text}</span>}
                <span class="about">{durationText(durationOf(step, now))}</span>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  )
}
