import type { VNode } from 'preact'
import type { RunSummary } from '../live/wire.ts'

/** The state of a run for a badge. */
export function stateOf({ status, begun, degraded }: Pick<RunSummary, 'status' | 'begun' | 'degraded'>): string {
  if (begun === false) return 'never_begun'
  return status === 'done' && degraded === true ? 'degraded' : status
}

/** The tone of a state, which decides the color of a badge. */
function toneOf(state: string): 'good' | 'bad' | 'busy' | 'open' | 'calm' {
  switch (state) {
    case 'done':
    case 'completed':
    case 'passed':
      return 'good'
    case 'failed':
    case 'errored':
    case 'interrupted':
    case 'invalid':
    case 'rejected':
      return 'bad'
    case 'running':
      return 'busy'
    case 'suspended':
    case 'waiting':
    case 'waiting_for_approval':
    case 'budget':
    case 'limit':
    case 'partial':
    case 'degraded':
      return 'open'
    default:
      return 'calm'
  }
}

/** The state of a run or part as a label with a colored dot. */
export function StateBadge({ state }: { readonly state: string }): VNode {
  return (
    <span class={`badge ${toneOf(state)}`}>
      <span class="dot" aria-hidden="true" />
      {wordsOf(state)}
    </span>
  )
}

/** Only the dot, if there is no room for the label. */
export function StateDot({ state }: { readonly state: string }): VNode {
  return (
    <span class={`state-dot ${toneOf(state)}`} role="img" aria-label={wordsOf(state)} title={wordsOf(state)}>
      <span class="dot" />
    </span>
  )
}

export function toneClass(state: string): string {
  return toneOf(state)
}

function wordsOf(state: string): string {
  if (state === 'waiting') return 'waiting for you'
  return state === 'waiting_for_approval' ? 'needs approval' : state.replaceAll('_', ' ')
}
