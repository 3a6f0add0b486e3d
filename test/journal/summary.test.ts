import { describe, expect, it } from 'vitest'
import { createBus } from '../../src/event/bus.ts'
import type { EventBody } from '../../src/event/event.ts'
import { readSummary, summaryOf, type RunResult } from '../../src/journal/summary.ts'
import { createTally } from '../../src/journal/tally.ts'
import { placeAt } from '../helpers/effects.ts'

const usage = { calls: 1, input: 10, output: 2, cached: 3, reasoning: 0 }

function tallyOf(
  events: readonly (readonly [place: string, event: EventBody])[],
  degradedBefore: readonly string[] = [],
): RunResult | undefined {
  const bus = createBus({ runId: 'run', now: () => new Date(0) })
  const tally = createTally()
  for (const place of degradedBefore) tally.addDegraded(place)
  bus.subscribe(tally.add)
  for (const [place, event] of events) bus.send(placeAt(place), event)
  return tally.result()
}

const started = {
  type: 'run.started',
  schema: 1,
  file: 'a.md',
  target: 'prompt',
  file_hash: null,
  version: '1',
  config_warnings: [],
} as const
const failed = {
  type: 'run.failed',
  stop_reason: 'error',
  exit_code: 1,
  result: null,
  outputs: [],
  usage: { ...usage, calls: 4 },
  cost_usd: null,
  unpriced: ['b::big'],
  permission_denials: [],
  repeated: [{ id: '1.2' }],
} as const

function done(index: number): EventBody {
  return { type: 'task.completed', index, label: '', output: '' }
}

describe('the tally of a run', () => {
  it('has no result before the run has ended', () => {
    expect(tallyOf([['', started]])).toBeUndefined()
  })

  it('counts tasks by how they ended, models once, and uses the totals of the last event', () => {
    const call = { type: 'usage', call: usage, total: usage, cost_usd: null, total_cost_usd: null } as const
    const error = { code: 'TASK_FAILED', message: 'no' }
    expect(
      tallyOf([
        ['', started],
        ['task/0', { ...call, model: 'a::small' }],
        ['task/0', { ...call, model: 'a::small' }],
        ['task/1', { ...call, model: 'b::big' }],
        ['task/0', done(0)],
        ['task/1', { type: 'task.failed', index: 1, label: '', error }],
        ['task/2', { type: 'task.skipped', index: 2, label: '' }],
        ['', failed],
      ]),
    ).toEqual({
      id: 'run',
      target: 'prompt',
      status: 'failed',
      exit: 1,
      tasks: { done: 1, failed: 1, skipped: 1 },
      calls: 4,
      tokens: { input: 10, output: 2, cached: 3 },
      cost_usd: null,
      models: ['a::small', 'b::big'],
      repeated: 1,
    })
  })

  it('counts only the tasks of the last round, and none of agents', () => {
    const result = tallyOf([
      ['', started],
      ['task/0', done(0)],
      ['task/1', done(1)],
      ['pre/0:child.md/task/5', done(5)],
      ['pre/0:child.md', { type: 'redo', count: 1 }],
      ['', { type: 'redo', count: 1 }],
      ['redo/1/task/0', done(0)],
      ['', failed],
    ])
    expect(result?.tasks).toEqual({ done: 1, failed: 0, skipped: 0 })
  })

  it('says that an ensemble lacks a member, unless a later round replaced it', () => {
    const lacks = { type: 'ensemble.completed', answered: ['a'], missing: ['b'], degraded: true } as const
    expect(
      tallyOf([
        ['', started],
        ['task/0', lacks],
        ['', failed],
      ]),
    ).toMatchObject({ degraded: true })
    const redone = tallyOf([
      ['', started],
      ['task/0', lacks],
      ['', { type: 'redo', count: 1 }],
      ['', failed],
    ])
    expect(redone).not.toHaveProperty('degraded')
    const inEarlierProcess = (place: string) =>
      tallyOf(
        [
          ['', started],
          ['', { type: 'redo', count: 1 }],
          ['', failed],
        ],
        [place],
      )
    expect(inEarlierProcess('task/0')).not.toHaveProperty('degraded')
    expect(inEarlierProcess('redo/1/task/0')).toMatchObject({ degraded: true })
  })

  it('counts the tasks of the last iteration only', () => {
    const result = tallyOf([
      ['', started],
      ['iteration/0/task/0', done(0)],
      ['iteration/0/task/1', done(1)],
      ['iteration/1/task/0', { type: 'task.skipped', index: 0, label: '' }],
      ['iteration/1/summary/task/3', done(3)],
      ['', failed],
    ])
    expect(result?.tasks).toEqual({ done: 0, failed: 0, skipped: 1 })
  })
})

describe('a summary', () => {
  const result = tallyOf([
    ['', started],
    ['', failed],
  ]) as RunResult
  const summary = summaryOf(result, '/w/a.md', { started: 0, ended: 5000, worked: 3000, epochs: 2 })

  it('contains the last activity next to the result', () => {
    expect(summary).toMatchObject({
      v: 1,
      id: 'run',
      file: '/w/a.md',
      started: '1970-01-01T00:00:00.000Z',
      ended: '1970-01-01T00:00:05.000Z',
      duration_ms: 3000,
      epochs: 2,
    })
  })

  it('is restored, also with fields of later versions', () => {
    expect(readSummary(JSON.stringify({ ...summary, later: 1 }))).toEqual({ ...summary, later: 1 })
  })

  it('contains the error and its place, except in older versions', () => {
    const error = { code: 'SCRIPT_FAILED', message: 'no', hint: 'Look.', file: '/w/a.lua', line: 2, column: 7 }
    const told = tallyOf([
      ['', started],
      ['', { ...failed, error }],
    ]) as RunResult
    const times = { started: 0, ended: 1, worked: 1, epochs: 1 }
    const place = { file: '/w/a.lua', line: 2, column: 7 }
    expect(summaryOf(told, '/w/a.md', times)).toMatchObject({ error: 'no', error_place: place })
    const { error: _, error_place: __, ...older } = summary
    expect(readSummary(JSON.stringify(older))).toEqual({ ...older, error: null, error_place: null })
  })

  it.each([
    '',
    '{',
    'null',
    '{}',
    '[]',
    JSON.stringify({ ...summary, status: 'odd' }),
    JSON.stringify({ ...summary, id: 3 }),
  ])('is not read from %j', (text) => {
    expect(readSummary(text)).toBeUndefined()
  })
})
