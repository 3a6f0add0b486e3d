import { describe, expect, it } from 'vitest'
import { createRowTable, type RowTable } from '../../src/history/rows.ts'
import type { JournalRecord } from '../../src/journal/record.ts'

// Rows of manually written records, each at the position of its number.

type Fields = Readonly<Record<string, unknown>> & { readonly k: string }

const begin = (p: string, label?: string) => ({ k: 'begin', p, key: {}, ...(label === undefined ? {} : { label }) })
const done = (p: string, value: unknown = { status: 'done' }) => ({ k: 'done', p, value })
const call = (p: string) => ({
  k: 'started',
  p,
  kind: 'model',
  repeat: 'safe',
  fp: '',
  request: { provider: 'offline::x' },
})
const ended = (p: string, status: string, more: object = {}) => ({
  k: 'ended',
  p,
  s: 0,
  kind: 'model',
  status,
  ...more,
})
const seg = (e: number) => ({ k: 'seg', e, v: 2 })
const end = (stop: string) => ({ k: 'run.end', exit: 0, stop })

function tableOf(records: readonly Fields[]): RowTable {
  const table = createRowTable({ value: (field) => field })
  let epoch = 1
  for (const [index, record] of [seg(1), ...records].entries()) {
    if (record.k === 'seg') epoch = Number(record['e'])
    table.add({ e: epoch, n: index, t: index * 10, ...record } as unknown as JournalRecord, index)
  }
  return table
}

const states = (records: readonly Fields[]) =>
  Object.fromEntries(
    tableOf(records)
      .changedAfter(0)
      .map(({ row: { place, state } }) => [place, state]),
  )

const asks = (p: string) => ({ k: 'started', p, kind: 'approval', repeat: 'safe', fp: '', request: {} })

describe('a row', () => {
  it.each([
    ['allow', 'done'],
    [{ always: { tool: 'write' } }, 'done'],
    ['deny', 'rejected'],
    [{ remark: 'not so' }, 'rejected'],
    [{ hunks: [], remarks: [] }, 'rejected'],
    [{ hunks: [1] }, 'partial'],
  ])('of an approval that was answered with %j is %s', (value, state) => {
    const answered = { ...ended('a/approval', 'ok', { value }), kind: 'approval' }
    expect(states([asks('a/approval'), answered])).toEqual({ 'a/approval': state })
  })

  it('is created when something begins, and updated when it ends', () => {
    const spent = [
      { model: 'a', usage: { input: 5, output: 0 }, costUsd: 0.5 },
      { model: 'b', usage: { input: 7, output: 2 }, costUsd: 0.25 },
    ]
    const records = [
      begin('task/0', 'a.md'),
      call('task/0/ask#0'),
      ended('task/0/ask#0', 'ok', { spent }),
      done('task/0'),
    ]
    expect(
      tableOf(records)
        .changedAfter(0)
        .map(({ row }) => row),
    ).toEqual([
      {
        n: 1,
        place: 'task/0/ask#0',
        kind: 'model',
        text: 'offline::x',
        state: 'done',
        start: 20,
        end: 30,
        model: 'b',
        input: 12,
        output: 2,
        usd: 0.75,
      },
      { n: 0, place: 'task/0', kind: 'task', text: 'a.md', state: 'done', start: 10, end: 40 },
    ])
  })

  it('has no price if the price of one attempt is unknown', () => {
    const spent = [
      { model: 'a', usage: { input: 1, output: 1 }, costUsd: null },
      { model: 'a', usage: { input: 1, output: 1 }, costUsd: 1 },
    ]
    const [placed] = tableOf([call('main#0'), ended('main#0', 'ok', { spent })]).changedAfter(0)
    expect(placed?.row.usd).toBeNull()
  })

  it.each([
    ['of a call that failed', [call('main#0'), ended('main#0', 'error')], { 'main#0': 'failed' }],
    ['of a call that was stopped', [call('main#0'), ended('main#0', 'cancelled')], { 'main#0': 'interrupted' }],
    ['of a task that is left out', [begin('task/0'), done('task/0', { status: 'skipped' })], { 'task/0': 'skipped' }],
    [
      'of a member without an answer',
      [begin('member/a'), done('member/a', { status: 'failed' })],
      { 'member/a': 'failed' },
    ],
    [
      'of an iteration that failed',
      [begin('iteration/0'), done('iteration/0', { record: { success: false } })],
      { 'iteration/0': 'failed' },
    ],
    ['of what waits', [begin('task/0'), { k: 'suspended', p: 'task/0', error: {} }], { 'task/0': 'suspended' }],
    [
      'of what a person says was done',
      [call('main#0'), { k: 'choice', p: 'main#0', of: [1, 1], choice: 'done' }],
      { 'main#0': 'done' },
    ],
  ])('%s', (_, records, expected) => {
    expect(states(records)).toEqual(expected)
  })

  it('has a text of at most 200 characters', () => {
    const [placed] = tableOf([begin('task/0', 'x'.repeat(500))]).changedAfter(0)
    expect(placed?.row.text).toBe(`${'x'.repeat(199)}…`)
  })

  it('of an iteration has its score', () => {
    const [placed] = tableOf([
      begin('iteration/0'),
      done('iteration/0', { record: { success: true, score: 12 } }),
    ]).changedAfter(0)
    expect(placed?.row).toMatchObject({ kind: 'iteration', score: 12, state: 'done' })
  })
})

describe('a row without an end', () => {
  it('is interrupted when another process begins, and continues if that process works on it', () => {
    const records = [begin('task/0'), call('task/0/ask#0'), begin('task/1'), seg(2)]
    expect(states(records)).toEqual({ 'task/0': 'interrupted', 'task/0/ask#0': 'interrupted', 'task/1': 'interrupted' })
    expect(states([...records, call('task/0/ask#0')])).toEqual({
      'task/0': 'running',
      'task/0/ask#0': 'running',
      'task/1': 'interrupted',
    })
  })

  it('has the state of the failed or waiting row inside it when the run ends', () => {
    const failed = [begin('task/0'), call('task/0/ask#0'), ended('task/0/ask#0', 'error'), begin('task/1')]
    expect(states([...failed, end('error')])).toMatchObject({ 'task/0': 'failed', 'task/1': 'interrupted' })
    const waits = [begin('task/0'), call('task/0/ask#0'), { k: 'suspended', p: 'task/0/ask#0', s: 2, error: {} }]
    expect(states([...waits, end('suspended')])).toMatchObject({ 'task/0': 'suspended' })
  })

  it('is only reported, not stored, because its process may be gone and another one may follow', () => {
    const table = tableOf([begin('task/0')])
    expect(table.left().map(({ state }) => state)).toEqual(['interrupted'])
    expect(table.changedAfter(0).map(({ row }) => row.state)).toEqual(['running'])
  })

  it('is interrupted if the part around it starts again, and keeps its number', () => {
    const table = tableOf([begin('task/0'), call('task/0/ask#0'), begin('task/0')])
    const rows = table.changedAfter(0).map(({ row: { n, state, start } }) => [n, state, start])
    expect(rows).toEqual([
      [1, 'interrupted', 20],
      [0, 'running', 30],
    ])
  })
})

describe('the rows after a position', () => {
  it('are those that have changed since, in the order of the changes', () => {
    const table = tableOf([begin('task/0'), begin('task/1'), begin('task/2'), done('task/1')])
    const behind = (position: number) => table.changedAfter(position).map(({ row: { n }, changed }) => [n, changed])
    expect(behind(0)).toEqual([
      [0, 1],
      [2, 3],
      [1, 4],
    ])
    expect(behind(3)).toEqual([[1, 4]])
    expect(behind(4)).toEqual([])
    expect(table.latest()).toBe(4)
  })
})

describe('the current call of an agent', () => {
  it('is its own, not that of a nested agent', () => {
    const table = tableOf([
      call('task/0/agent/ask/turn/0/tool/0:task/agent/a/main/turn/0#0'),
      call('task/0/agent/ask/turn/1#0'),
      call('task/1/agent/ask/turn/0#0'),
    ])
    expect(table.callIn('task/0/ask', 0)).toBe('task/0/agent/ask/turn/1#0')
    expect(table.callIn('task/2/ask', 0)).toBeUndefined()
    // it has begun earlier than the one that is asked for
    expect(table.callIn('task/0/ask', Date.now())).toBeUndefined()
  })
})
