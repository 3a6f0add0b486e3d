import { expect, it } from 'vitest'
import type { Row } from '../../../src/page/data/row.ts'
import { createRowTree } from '../../../src/page/data/row-tree.ts'

const row = (n: number, place: string, more: Partial<Row> = {}): Row => ({
  n,
  place,
  kind: 'model',
  text: '',
  state: 'running',
  start: 0,
  ...more,
})

const whole = { expanded: 'all', toggled: new Set<number>() } as const

it('puts each row below its nearest enclosing place, and conversations where they were opened', () => {
  const tree = createRowTree()
  tree.add([
    row(0, 'task/0'),
    row(1, 'task/0/agent/ask/turn/0#0'),
    row(2, 'task/0/ask/turn/0/tool/0:task/agent/helper'),
    row(3, 'task/0/agent/ask+turn+0+tool+0:task+agent+helper+ask/turn/0#0'),
  ])
  expect(tree.lines(whole).map(({ depth, name, shape }) => [depth, name, shape])).toEqual([
    [0, 'task/0', 'open'],
    [1, 'ask/turn/0#0', 'leaf'],
    [1, 'ask/turn/0/tool/0:task/agent/helper', 'open'],
    [2, 'ask/turn/0#0', 'leaf'],
  ])
})

it('hides the rows below a collapsed row, and shows the last version of a row', () => {
  const tree = createRowTree()
  tree.add([row(0, 'task/0'), row(1, 'task/0/data')])
  tree.add([row(0, 'task/0', { state: 'done' })])
  expect(
    tree.lines({ expanded: 'all', toggled: new Set([0]) }).map(({ row: { n, state }, shape }) => [n, state, shape]),
  ).toEqual([[0, 'done', 'closed']])
})

it('begins with many tasks collapsed, and with few expanded', () => {
  const few = { expanded: 'few', toggled: new Set<number>() } as const
  const of = (count: number) => {
    const tree = createRowTree()
    for (let n = 0; n < count; n += 1) tree.add([row(2 * n, `task/${n}`), row(2 * n + 1, `task/${n}/data`)])
    return tree
  }
  expect(of(20).lines(few)).toHaveLength(40)
  expect(of(21).lines(few)).toHaveLength(21)
  expect(of(21).lines({ ...few, toggled: new Set([0]) })).toHaveLength(22)
})

it('shows only what fits, with what is around it', () => {
  const tree = createRowTree()
  tree.add([row(0, 'task/0'), row(1, 'task/0/data'), row(2, 'task/1'), row(3, 'task/1/data', { state: 'failed' })])
  const shown = tree.lines({ ...whole, fits: ({ state }) => state === 'failed' })
  expect(shown.map(({ row: { n } }) => n)).toEqual([2, 3])
})
