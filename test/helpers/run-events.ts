import type { EventBody, RunEvent } from '../../src/event/event.ts'
import { noUsage } from '../../src/event/message.ts'

/** An event as the bus sends it, from a place in a run. */
export function event(body: EventBody, agent = ''): RunEvent {
  return { ...body, seq: 0, ts: '', run_id: 'r', agent }
}

export function started(target: 'prompt' | 'agent'): RunEvent {
  return event({
    type: 'run.started',
    schema: 1,
    file: 'a',
    target,
    file_hash: null,
    version: '0',
    config_warnings: [],
  })
}

export function planned(count: number): RunEvent {
  return event({ type: 'tasks.planned', count, concurrency: 20 })
}

/** A task starts and calls a model. */
export function asking(index: number, { label = `file-${index}.ts`, count = 2 } = {}): readonly RunEvent[] {
  const place = `task/${index}/ask`
  return [
    event({ type: 'task.started', index, label, count }, `task/${index}`),
    event({ type: 'agent.started', name: 'main', kind: 'llm' }, place),
    event({ type: 'item.started', item: { id: place, type: 'agent_message' } }, place),
  ]
}

/** A piece of the answer of a task. */
export function piece(index: number, text: string): RunEvent {
  return event({ type: 'item.delta', item_id: `task/${index}/ask`, text }, `task/${index}/ask`)
}

/** The task has ended. */
export function answered(index: number): readonly RunEvent[] {
  const place = `task/${index}/ask`
  return [
    event({ type: 'agent.completed', name: 'main', stop_reason: 'done' }, place),
    event({ type: 'task.completed', index, label: '', output: '' }, `task/${index}`),
  ]
}

export function answer(index: number, text: string, count = 2): RunEvent {
  return event({ type: 'answer', index, count, label: `file-${index}.ts`, text })
}

type Ending = Extract<EventBody, { readonly type: 'run.completed' | 'run.failed' }>

export function ending(reason: Ending['stop_reason'], more: Partial<Ending> = {}): RunEvent {
  return event({
    type: reason === 'done' || reason === 'skipped' ? 'run.completed' : 'run.failed',
    stop_reason: reason,
    exit_code: 0,
    result: null,
    outputs: [],
    usage: noUsage,
    cost_usd: 0,
    unpriced: [],
    permission_denials: [],
    repeated: [],
    ...more,
  })
}
