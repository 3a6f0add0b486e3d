import { formatClock, formatCost, formatCount, formatUsage } from './format.ts'
import type { Frame } from './frame.ts'
import { joinWhole, type Line, type Segment } from './line.ts'
import type { Progress } from './progress.ts'

/** `41s · 37/1,000 tasks · 2 failed · $0.013 · 45,120 tokens in, 3,201 out`. */
export function totalsOf(progress: Progress, { now, isStopping }: Pick<Frame, 'now' | 'isStopping'>): Segment[] {
  const { title, failed, skipped, costUsd, usage } = progress
  return [
    { text: formatClock(now), format: 'dim' },
    { text: isStopping ? 'stopping' : '', format: 'yellow' },
    { text: donePart(progress), format: 'bold' },
    { text: failed > 0 ? `${formatCount(failed)} failed` : '', format: 'red' },
    { text: skipped > 0 ? `${formatCount(skipped)} skipped` : '', format: 'yellow' },
    { text: formatCost(costUsd) },
    { text: formatUsage(usage) },
    { text: title, format: 'dim' },
  ]
}

function donePart({ target, planned, finished }: Progress): string {
  if (target === 'agent') return finished > 0 ? `${formatCount(finished)} done` : ''
  return planned > 1 ? `${formatCount(finished)}/${formatCount(planned)} tasks` : ''
}

/**
 * What stays when the run is over: how it ended, with its totals. Nothing for a run without models and tasks, or one that
 * was skipped, which says why.
 */
export function composeEnd(progress: Progress, frame: Frame): Line | undefined {
  const [clock, ...totals] = totalsOf(progress, { ...frame, isStopping: false }).filter(({ text }) => text !== '')
  const outcome = outcomeOf(progress)
  if (outcome === undefined || clock === undefined || totals.length === 0) return undefined
  return joinWhole([outcome, clock, ...totals], { columns: frame.columns - 1, paint: frame.paint })
}

function outcomeOf({ ending }: Progress): Segment | undefined {
  switch (ending) {
    case undefined:
    case 'skipped':
      return undefined
    case 'done':
      return { text: 'done', format: 'green' }
    case 'cancelled':
      return { text: 'stopped', format: 'yellow' }
    case 'limit':
    case 'budget':
    case 'error':
      return { text: 'failed', format: 'red' }
  }
}
