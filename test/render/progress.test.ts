import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { noUsage } from '../../src/event/message.ts'
import { createProgress, type Progress } from '../../src/render/progress.ts'
import { answered, asking, event, piece, planned, started } from '../helpers/run-events.ts'

function after(events: readonly RunEvent[], clock = (): number => 0): Progress {
  const progress = createProgress(clock)
  for (const item of events) progress.add(item)
  return progress.now()
}

function laneNames({ lanes }: Progress): readonly string[] {
  return [...lanes.values()].map(({ label }) => label)
}

describe('agents that a model has started', () => {
  const cat = 'task/0/ask/turn/0/tool/0:task/agent/Explore'
  const dog = 'task/0/ask/turn/0/tool/1:task/agent/Explore'
  const begin = (description: string, at: string): RunEvent =>
    event({ type: 'agent.started', name: 'Explore', kind: 'prompt', id: 'a1', description, background: true }, at)

  it('have their own lanes after the lane of their task until they end, also while they wait for a person', () => {
    const events = [
      started('prompt'),
      planned(1),
      ...asking(0),
      begin('find the cat', cat),
      begin('find the dog', dog),
      event({ type: 'agent.started', name: 'Explore', kind: 'llm' }, `${cat}/ask`),
      event({ type: 'tool.started', id: 't', name: 'read', input: { path: 'notes.txt' } }, `${cat}/ask`),
    ]
    const working = after(events)
    expect(laneNames(working)).toEqual(['file-0.ts', '  Explore: find the cat', '  Explore: find the dog'])
    expect([...(working.lanes.get(cat)?.calls.values() ?? [])]).toEqual([{ text: 'read notes.txt' }])
    expect(working.lanes.get('task/0')?.calls.size).toBe(0)
    const ended = after([
      ...events,
      event({ type: 'agent.completed', name: 'Explore', stop_reason: 'done' }, `${cat}/ask`),
      event({ type: 'agent.completed', name: 'Explore', stop_reason: 'done', id: 'a1' }, cat),
      event({ type: 'agent.suspended', name: 'Explore', id: 'a2', error: { code: 'X', message: 'm' } }, dog),
    ])
    expect(laneNames(ended)).toEqual(['file-0.ts'])
  })
})

describe('agents of a team', () => {
  const place = (call: number): string => `task/0/ask/turn/0/tool/${call}:spawn_agent/agent/worker/input/0`
  const [one, two] = ['6f9b5c1e-8f0a-4d2b-9c57-2b1f6f0f8a11', '0d4a7b52-53a5-4c0e-8b7d-93a5e9d7c4f2']
  const begin = (call: number, id: string, description: string): RunEvent =>
    event({ type: 'agent.started', name: 'worker', kind: 'prompt', id, description, background: true }, place(call))
  const become = (id: string, status: 'pending_init' | 'running' | { readonly completed: string }): RunEvent =>
    event({ type: 'collab.status', thread_id: id, name: 'worker', role: 'worker', status }, 'task/0/ask')
  const working = [
    started('prompt'),
    planned(1),
    ...asking(0),
    become(one, 'pending_init'),
    begin(0, one, 'count'),
    become(one, 'running'),
    become(two, 'pending_init'),
    begin(1, two, 'read'),
  ]

  it('have numbered lanes with their costs, and a waiting agent is marked', () => {
    const call = { calls: 1, input: 1, output: 1, cached: 0, reasoning: 0 }
    const usage = { type: 'usage', model: 'm', call, total: call, cost_usd: 0.02, total_cost_usd: 0.02 } as const
    const progress = after([...working, event(usage, `${place(0)}/ask`)])
    const lanes = [...progress.lanes.values()].slice(1)
    expect(lanes).toMatchObject([
      { label: '  worker 1: count', isQueued: false, costUsd: 0.02 },
      { label: '  worker 2: read', isQueued: true, costUsd: 0 },
    ])
    expect(progress.team).toBe('2 agents')
  })

  it('lose their lane when a piece of their work has ended, and are counted', () => {
    const progress = after([
      ...working,
      event({ type: 'agent.completed', name: 'worker', stop_reason: 'done', id: one }, place(0)),
      become(one, { completed: 'There are 12.' }),
    ])
    expect(laneNames(progress)).toEqual(['file-0.ts', '  worker 2: read'])
    expect(progress.team).toBe('2 agents, 1 done')
  })

  it('are named by the agent that waits for them', () => {
    const call = { call_id: 'c', sender_id: 'root' }
    const waits = [
      event({ type: 'tool.started', id: 'c', name: 'wait', input: { ids: [one, two] } }, 'task/0/ask'),
      event(
        { type: 'collab.waiting_begin', ...call, thread_ids: [one, two], return_when: 'all', timeout_seconds: 30 },
        'task/0/ask',
      ),
    ]
    const waiting = after([...working, ...waits])
    expect([...(waiting.lanes.get('task/0')?.calls.values() ?? [])]).toEqual([{ text: 'waiting for worker 1 (+1)' }])
    const ended = event({ type: 'collab.waiting_end', ...call, statuses: {}, timed_out: true }, 'task/0/ask')
    expect(after([...working, ...waits, ended]).lanes.get('task/0')?.calls.size).toBe(0)
  })
})

describe('the tasks of a run', () => {
  it('are counted by how they ended', () => {
    const progress = after([
      started('prompt'),
      planned(4),
      ...[0, 1, 2, 3].flatMap((index) => asking(index)),
      ...answered(0),
      event({ type: 'task.failed', index: 1, label: 'b', error: { code: 'X', message: 'm' } }, 'task/1'),
      event({ type: 'task.skipped', index: 2, label: 'c' }, 'task/2'),
    ])
    expect(progress).toMatchObject({ planned: 4, finished: 3, failed: 1, skipped: 1 })
    expect(laneNames(progress)).toEqual(['file-3.ts'])
  })

  it('are not those of a prompt file that runs as an agent', () => {
    const inner = 'task/0/pre_task/0:child.md'
    const progress = after([
      started('prompt'),
      planned(2),
      ...asking(0),
      event({ type: 'stage.started', stage: 'pre_task', agents: ['child.md'] }, 'task/0/pre_task'),
      event({ type: 'agent.started', name: 'child.md', kind: 'prompt' }, inner),
      event({ type: 'tasks.planned', count: 7, concurrency: 1 }, inner),
      event({ type: 'task.started', index: 0, label: 'inner', count: 7 }, `${inner}/task/0`),
      event({ type: 'stage.started', stage: 'post_task', agents: ['x'] }, `${inner}/task/0/post_task`),
      event({ type: 'task.failed', index: 0, label: 'inner', error: { code: 'X', message: 'm' } }, `${inner}/task/0`),
      event({ type: 'redo', count: 1 }, inner),
    ])
    expect(progress).toMatchObject({ planned: 2, finished: 0, failed: 0 })
    expect(laneNames(progress)).toEqual(['file-0.ts'])
    expect(progress.lanes.get('task/0')?.stage).toBe('pre_task')
    expect([...(progress.lanes.get('task/0')?.agents.values() ?? [])]).toEqual(['', 'child.md'])
  })

  it('are reset in another round', () => {
    const progress = after([
      started('prompt'),
      planned(1),
      ...asking(0),
      ...answered(0),
      event({ type: 'redo', count: 1 }),
      event({ type: 'tasks.planned', count: 3, concurrency: 1 }, 'redo/1'),
      event({ type: 'task.started', index: 0, label: 'again', count: 3 }, 'redo/1/task/0'),
    ])
    expect(progress).toMatchObject({ planned: 3, finished: 0 })
    expect(laneNames(progress)).toEqual(['again'])
  })

  it('use constant memory, however many there were', () => {
    const progress = createProgress(() => 0)
    progress.add(started('prompt'))
    progress.add(planned(1000))
    let most = 0
    for (let index = 0; index < 1000; index += 1) {
      for (const item of asking(index)) progress.add(item)
      for (let count = 0; count < 10; count += 1) progress.add(piece(index, 'text '.repeat(100)))
      for (const item of index < 20 ? [] : answered(index - 20)) progress.add(item)
      const { lanes } = progress.now()
      most = Math.max(most, lanes.size)
      expect(lanes.get(`task/${index}`)?.tail.length).toBe(400)
    }
    expect(most).toBe(20)
    expect(progress.now()).toMatchObject({ planned: 1000, finished: 980 })
  })
})

describe('iterations', () => {
  it('are counted, and the result of the last one is shown until the next has ended', () => {
    const ended = (iteration: number, score?: number): RunEvent =>
      event(
        {
          type: 'iteration.completed',
          iteration,
          success: true,
          summary: '',
          tokens_used: 0,
          cost_usd: null,
          changed_files: ['a.txt'],
          ...(score === undefined ? {} : { score }),
        },
        `iteration/${iteration}`,
      )
    const begun = (iteration: number, count?: number): RunEvent =>
      event(
        { type: 'iteration.started', iteration, ...(count === undefined ? {} : { count }) },
        `iteration/${iteration}`,
      )
    expect(after([begun(0, 5)]).iteration).toBe('iteration 0 of 5')
    expect(after([begun(0, 5), ended(0, 7), begun(1, 5)]).iteration).toBe('iteration 1 of 5 · score 7 · 1 file')
    expect(after([begun(0), ended(0, 7), begun(1), ended(1)]).iteration).toBe('iteration 1 · 1 file')
    const all = event({ type: 'iterate.completed', result: { iterations_attempted: 2 } }, '')
    expect(after([begun(0, 2), ended(0), begun(1, 2), ended(1, 9), all]).iteration).toBe(
      '2 iterations · score 9 · 1 file',
    )
  })
})

describe('the activity of a task', () => {
  it('shows the end of the first unfinished answer, not of two at once', () => {
    const other = 'task/0/pre_task/0:a.aip/task/1/ask'
    const events = [
      ...asking(0),
      event({ type: 'agent.started', name: 'a.aip', kind: 'llm' }, other),
      event({ type: 'item.started', item: { id: 'o', type: 'agent_message' } }, other),
      piece(0, 'one '),
      event({ type: 'item.delta', item_id: 'o', text: 'other' }, other),
      piece(0, 'two'),
    ] as const
    expect(after(events).lanes.get('task/0')).toMatchObject({ tail: 'one two', activity: { kind: 'answering' } })
    const over = [
      ...events,
      event({ type: 'agent.completed', name: 'main', stop_reason: 'done' }, 'task/0/ask'),
      event({ type: 'item.delta', item_id: 'o', text: 'goes on' }, other),
    ]
    expect(after(over).lanes.get('task/0')).toMatchObject({ tail: 'goes on' })
  })

  it('discards what a model sent before it failed', () => {
    const error = { code: 'MODEL_FAILED', message: 'overloaded\u001b[2J' }
    const failed = [
      ...asking(0),
      piece(0, 'half an ans'),
      event({ type: 'retry', item_id: '', model: 'm', attempt: 1, delay_ms: 5000, error }, 'task/0/ask'),
    ]
    const lane = after(failed, () => 1000).lanes.get('task/0')
    expect(lane).toMatchObject({ tail: '', activity: { kind: 'retry', until: 6000, message: 'overloaded[2J' } })
    const other = [...failed, event({ type: 'fallback', item_id: '', from: 'm', to: 'n', error }, 'task/0/ask')]
    expect(after(other).lanes.get('task/0')).toMatchObject({ activity: { kind: 'asking', model: 'n' } })
  })

  it('distinguishes thoughts and answer', () => {
    const thought = event({ type: 'item.delta', item_id: '', text: 'hmm', reasoning: true }, 'task/0/ask')
    expect(after([...asking(0), thought]).lanes.get('task/0')).toMatchObject({
      tail: 'hmm',
      activity: { kind: 'thinking' },
    })
    expect(after([...asking(0), thought, piece(0, 'so')]).lanes.get('task/0')).toMatchObject({ tail: 'so' })
  })
})

describe('an agent as target', () => {
  const model = (input: number): readonly RunEvent[] => [
    event({ type: 'agent.started', name: 'a.aip', kind: 'llm' }, `main/task/${input}/ask`),
  ]

  it('shows its inputs while they wait for a model, and counts its outputs', () => {
    const progress = after([
      started('agent'),
      event({ type: 'agent.started', name: 'a.aip', kind: 'aip' }, 'main'),
      event({ type: 'label', scope: 'task', label: 'src/a.ts' }, 'main/task/0/data'),
      event({ type: 'label', scope: 'task', label: 'src/c.ts' }, 'main/task/2/data'),
      ...model(0),
      ...model(1),
      event({ type: 'agent.completed', name: 'a.aip', stop_reason: 'done' }, 'main/task/1/ask'),
      event({ type: 'task.skipped', index: 3, label: 'a.aip' }, 'main/task/3'),
      event({ type: 'output', output: 'x' }),
    ])
    expect(laneNames(progress)).toEqual(['a.aip', 'src/a.ts'])
    expect(progress).toMatchObject({ finished: 1, planned: 0, skipped: 0 })
  })

  it('may have a title', () => {
    const label = event({ type: 'label', scope: 'run', label: 'Read\nall' }, 'main/before_all')
    expect(after([started('agent'), label])).toMatchObject({ title: 'Read all' })
  })
})

it('shows stages of the whole run while they last', () => {
  const begun = [
    started('prompt'),
    event({ type: 'stage.started', stage: 'pre', agents: ['a.lua'] }, 'pre'),
    event({ type: 'agent.started', name: 'a.lua', kind: 'lua' }, 'pre/0:a.lua'),
  ]
  expect(laneNames(after(begun))).toEqual(['pre'])
  const ended = [
    ...begun,
    event({ type: 'agent.completed', name: 'a.lua', stop_reason: 'done' }, 'pre/0:a.lua'),
    event({ type: 'stage.completed', stage: 'pre' }, 'pre'),
  ]
  expect(laneNames(after(ended))).toEqual([])
})

it('shows the tokens and the price of the run', () => {
  const total = { ...noUsage, calls: 2, input: 10, output: 3 }
  const usage = event({ type: 'usage', model: 'm', call: noUsage, total, cost_usd: null, total_cost_usd: 0.5 })
  expect(after([started('prompt'), usage])).toMatchObject({ usage: total, costUsd: 0.5 })
})

describe('the steps of a workflow', () => {
  const draft = 'task/0/step/draft'
  const begun = [
    started('prompt'),
    planned(1),
    event({ type: 'task.started', index: 0, label: 'release.md', count: 1 }, 'task/0'),
    event(
      { type: 'workflow.started', steps: ['list', 'draft'].map((id) => ({ id, needs: [] })), concurrency: 2 },
      'task/0',
    ),
    event({ type: 'step.started', id: 'list', items: 3 }, 'task/0/step/list'),
    event({ type: 'step.started', id: 'draft', name: 'inner.md' }, draft),
    event({ type: 'agent.started', name: 'inner.md', kind: 'prompt' }, draft),
  ]

  it('have a lane each below their task, with the finished items', () => {
    const progress = after([
      ...begun,
      event({ type: 'agent.started', name: 'main', kind: 'llm' }, 'task/0/step/list/item/0/ask'),
      event({ type: 'agent.completed', name: 'main', stop_reason: 'done' }, 'task/0/step/list/item/0/ask'),
      event({ type: 'step.item', id: 'list', index: 0, status: 'done' }, 'task/0/step/list'),
    ])
    expect(laneNames(progress)).toEqual(['release.md', '  list', '  draft'])
    expect(progress.lanes.get('task/0/step/list')?.items).toEqual({ planned: 3, finished: 1 })
    expect(progress.steps).toEqual({ planned: 2, finished: 0 })
  })

  it('count the items that failed', () => {
    const error = { code: 'MODEL_FAILED', message: 'no luck' }
    const ended = event(
      { type: 'step.item', id: 'list', index: 0, label: 'a.ts', status: 'failed', error },
      'task/0/step/list',
    )
    const { lanes } = after([...begun, ended])
    expect(lanes.get('task/0/step/list')?.items).toEqual({ planned: 3, finished: 1, failed: 1 })
  })

  it('are counted once each, without those of a nested workflow', () => {
    const inner = `${draft}/task/0`
    const progress = after([
      ...begun,
      event({ type: 'tasks.planned', count: 5, concurrency: 1 }, draft),
      event({ type: 'task.started', index: 0, label: 'inner.md', count: 1 }, inner),
      event({ type: 'workflow.started', steps: [{ id: 'x', needs: [] }], concurrency: 1 }, inner),
      event({ type: 'step.started', id: 'x' }, `${inner}/step/x`),
      event({ type: 'step.completed', id: 'x', output: 1 }, `${inner}/step/x`),
      event({ type: 'task.completed', index: 0, label: 'inner.md', output: '' }, inner),
      event({ type: 'step.skipped', id: 'list', reason: 'r' }, 'task/0/step/list'),
    ])
    expect(progress).toMatchObject({ planned: 1, finished: 0, steps: { planned: 2, finished: 1 } })
    expect(laneNames(progress)).toEqual(['release.md', '  draft'])
  })
})
