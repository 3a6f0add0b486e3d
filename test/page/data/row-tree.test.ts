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

it('puts each row below its nearest enclosing place, and conversations where they were opened', () => {
  const tree = createRowTree()
  tree.add([
    row(0, 'task/0'),
    row(1, 'task/0/agent/ask/turn/0#0'),
    row(2, 'task/0/ask/turn/0/tool/0:task/agent/helper'),
    row(3, 'task/0/agent/ask+turn+0+tool+0:task+agent+helper+ask/turn/0#0'),
  ])
  expect(tree.lines(new Set()).map(({ depth, name, shape }) => [depth, name, shape])).toEqual([
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
  expect(tree.holders()).toEqual([0])
  expect(tree.lines(new Set([0])).map(({ row: { n, state }, shape }) => [n, state, shape])).toEqual([
    [0, 'done', 'closed'],
  ])
})
