import { expect, it } from 'vitest'
import type { RunSummary } from '../../../src/journal/summary.ts'
import { axisValues, usageByAgent, usageOverTime } from '../../../src/page/data/chart-data.ts'
import type { Row } from '../../../src/page/data/row.ts'
import { formFields } from '../../../src/page/data/form-fields.ts'
import { splitPath, subjectOf } from '../../../src/page/data/format.ts'
import { createRowStore } from '../../../src/page/data/row-store.ts'
import { everyRun, queryOf, withOlder, withRun } from '../../../src/page/data/run-list.ts'
import { rowAfterKey, rowsIn, topFor } from '../../../src/page/data/window.ts'
import { layersOf } from '../../../src/page/data/workflow-layers.ts'
import { hashOf, parseHash, type Route } from '../../../src/page/route.ts'

const row = (n: number, more: Partial<Row> = {}): Row => ({
  n,
  place: 'task/0',
  kind: 'model',
  text: '',
  state: 'done',
  start: n,
  end: n + 1,
  ...more,
})

it('a call is about what decides what it does, of which the first line is shown', () => {
  expect(subjectOf({ description: 'Look', path: 'a', command: 'ls' })).toBe('ls')
  expect(subjectOf({ todos: [], note: 'x' })).toBe('x')
  expect(subjectOf('echo one\nrm -r .\n')).toBe('echo one …')
  expect(subjectOf({ command: 'x'.repeat(300) })).toBe(`${'x'.repeat(200)} …`)
  expect([subjectOf({ todos: [] }), subjectOf(null), subjectOf(1)]).toEqual(['', '', ''])
})

it('a row that is sent again replaces the older one', () => {
  const store = createRowStore()
  store.add([row(0), row(1)])
  expect(store.add([row(1, { text: 'new' }), row(2)]).map(({ n }) => n)).toEqual([2])
  expect(store.rows.map(({ n, text }) => [n, text])).toEqual([
    [0, ''],
    [1, 'new'],
    [2, ''],
  ])
})

it('renders only the rows in view and a few around them, and scrolls no further than necessary', () => {
  expect(rowsIn({ top: 1000, height: 200 }, 20, 10_000)).toEqual({ first: 42, end: 68 })
  expect(rowsIn({ top: 0, height: 200 }, 20, 5)).toEqual({ first: 0, end: 5 })
  expect([
    topFor(2, { top: 100, height: 200 }, 20),
    topFor(7, { top: 100, height: 200 }, 20),
    topFor(20, { top: 100, height: 200 }, 20),
  ]).toEqual([40, 100, 220])
  expect(['ArrowDown', 'ArrowUp', 'End', 'Home', 'PageDown', 'x'].map((key) => rowAfterKey(key, 3, 10, 5))).toEqual([
    4,
    2,
    9,
    0,
    8,
    undefined,
  ])
})

const run = (id: string, more: Partial<RunSummary> = {}): RunSummary => ({
  v: 1,
  id,
  file: 'a.md',
  target: 'prompt',
  started: id,
  ended: null,
  duration_ms: 0,
  status: 'running',
  exit: null,
  tasks: { done: 0, failed: 0, skipped: 0 },
  calls: 0,
  tokens: { input: 0, output: 0, cached: 0 },
  cost_usd: 0,
  models: [],
  epochs: 1,
  repeated: 0,
  error: null,
  error_place: null,
  ...more,
})

it('a new run is placed at the top if it matches the filter, and a changed run keeps its position', () => {
  const all = everyRun
  const list = withRun([run('2'), run('1')], run('3'), all)
  expect(list.map(({ id }) => id)).toEqual(['3', '2', '1'])
  expect(withRun(list, run('2', { status: 'done' }), all).map(({ id, status }) => [id, status])).toEqual([
    ['3', 'running'],
    ['2', 'done'],
    ['1', 'running'],
  ])
  expect(withRun(list, run('4'), { ...all, text: 'b.md' })).toEqual(list)
  // one that begins to wait, between others that do
  const waits = withRun(list.toSpliced(1, 1), run('2', { status: 'waiting' }), { ...all, state: 'waits' })
  expect(waits.map(({ id }) => id)).toEqual(['3', '2', '1'])
  expect(withRun(list, run('4'), { ...all, state: 'waits' })).toEqual(list)
  expect(withOlder(list, [run('1'), run('0')]).map(({ id }) => id)).toEqual(['3', '2', '1', '0'])
})

it('a filter becomes a query for the server: groups of states, and a time', () => {
  expect(queryOf(everyRun, 0)).toEqual({})
  const now = Date.parse('2026-11-29T12:00:00Z')
  expect(queryOf({ text: ' cart ', state: 'waits', file: 'a.md', model: 'gpt', since: '24h' }, now)).toEqual({
    q: 'cart',
    state: 'waiting,waiting_for_approval',
    file: 'a.md',
    model: 'gpt',
    since: '2026-11-28T12:00:00.000Z',
  })
  expect(queryOf({ ...everyRun, state: 'failed' }, now)).toEqual({ state: 'failed' })
})

it('the fields of a form follow from a schema of variables, or of an MCP server', () => {
  const fields = formFields({
    type: 'object',
    properties: {
      tone: { type: 'string', enum: ['dry', 'warm'], default: 'dry', description: 'How it sounds' },
      times: { type: 'integer' },
      loud: { type: 'boolean', default: false },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, default: ['a', 'b'] },
      more: { type: 'object', default: { k: 1 } },
      who: { type: 'string', title: 'Name', oneOf: [{ const: 'x', title: 'Xaver' }] },
    },
    required: ['times'],
  })
  expect(fields.map(({ title, input, initial, isRequired }) => [title, input, initial, isRequired])).toEqual([
    ['tone', 'choice', 'dry', false],
    ['times', 'number', '', true],
    ['loud', 'choice', 'false', false],
    ['tags', 'text', 'a, b', false],
    ['more', 'lines', '{"k":1}', false],
    ['Name', 'choice', '', false],
  ])
  expect([fields[0]?.choices, fields[3]?.hint, fields[5]?.choices]).toEqual([
    [
      { value: 'dry', title: 'dry' },
      { value: 'warm', title: 'warm' },
    ],
    'with commas: a, b',
    [{ value: 'x', title: 'Xaver' }],
  ])
})

it('sums what each agent used, and usage over time', () => {
  const rows = [
    row(0, { place: 'task/0/agent/ask/turn/0#0', input: 10, output: 1, usd: 0.5 }),
    row(1, { place: 'task/0/pre_task/0:lint/data#0', input: 100, output: 0, usd: null }),
    row(2, { kind: 'file' }),
  ]
  expect(usageByAgent(rows).map(({ name, calls, input, usd }) => [name, calls, input, usd])).toEqual([
    ['lint', 1, 100, 0],
    ['main agent', 1, 10, 0.5],
  ])
  expect(usageOverTime(rows)).toEqual([
    { time: 0, tokens: 0, usd: 0 },
    { time: 1, tokens: 11, usd: 0.5 },
    { time: 2, tokens: 111, usd: 0.5 },
  ])
})

it.each([
  [111, [0, 50, 100, 150]],
  [0.0042, [0, 0.002, 0.004, 0.006]],
  [4, [0, 1, 2, 3, 4]],
  [0, [0]],
])('the axis of values up to %d has round marks', (most, marks) => {
  expect(axisValues(most)).toEqual(marks)
})

it('concurrent steps are in one column', () => {
  const layers = layersOf(
    [row(0, { start: 0, end: 10 }), row(1, { start: 5, end: 20 }), row(2, { start: 20, end: 30 })],
    0,
  )
  expect(layers.map((layer) => layer.map(({ n }) => n))).toEqual([[0, 1], [2]])
})

it.each<Route>([
  { kind: 'runs', filter: everyRun },
  { kind: 'runs', filter: { text: 'a&b', state: 'bad', file: 'x/y.md', model: 'm', since: '7d' } },
  { kind: 'inbox' },
  { kind: 'new', file: 'a/b.md', from: '' },
  { kind: 'new', file: '', from: '2026-1' },
  { kind: 'run', id: '2026-1', tab: 'tree' },
  { kind: 'run', id: '2026-1', tab: 'answer' },
  { kind: 'compare', before: 'a', after: 'b' },
  { kind: 'files' },
  { kind: 'file', path: 'a b/c#d.md' },
  { kind: 'conversations' },
  { kind: 'conversation', id: 'x' },
])('an address is parsed into the view it was made from: %j', (route) => {
  expect(parseHash(hashOf(route))).toEqual(route)
})

it('the name of a file that hides or reorders characters is shown with them', () => {
  expect(splitPath('a\u202e/b\u202egpj.md')).toEqual({ folder: 'a<U+202E>/', name: 'b<U+202E>gpj.md' })
  expect(splitPath('src/über uns (1).md')).toEqual({ folder: 'src/', name: 'über uns (1).md' })
})
