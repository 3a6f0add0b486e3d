import type { ModelFault } from './errors.ts'
import type { ModelEvent } from './provider.ts'
import type { SseEvent } from './sse.ts'
import type { AnswerState, WireFormat } from './wire/format.ts'

/** What several events gave. `fault` is what they ended with; `events` came before it. */
export interface Batch<S extends AnswerState> {
  readonly state: S
  readonly events: readonly ModelEvent[]
  readonly fault: ModelFault | undefined
}

/**
 * Reads the events that arrived together, up to the end mark or the first fault. Neighbouring pieces of text become
 * one: whoever shows them gets them at the same moment anyway, and a fast model costs a fraction.
 */
export function readBatch<S extends AnswerState>(
  format: WireFormat<S>,
  start: S,
  events: readonly SseEvent[],
): Batch<S> {
  const read: ModelEvent[] = []
  let state = start
  for (const event of events) {
    if (state.done) break
    const step = format.read(state, event)
    if (step.kind === 'fault') return { state, events: read, fault: step.fault }
    state = step.state
    for (const next of step.events) append(read, next)
  }
  return { state, events: read, fault: undefined }
}

function append(events: ModelEvent[], next: ModelEvent): void {
  const last = events.at(-1)
  if (last?.type === 'text' && next.type === 'text') {
    events[events.length - 1] = { type: 'text', text: last.text + next.text }
  } else if (last?.type === 'reasoning' && next.type === 'reasoning') {
    events[events.length - 1] = { type: 'reasoning', text: last.text + next.text }
  } else {
    events.push(next)
  }
}
