import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withCurrentState, comparePlan, type WatchPlan } from '../../src/watch/plan.ts'
import { tempTree } from '../helpers/temp.ts'

/** A plan for files with the content `now`, read when they had the content `then`. */
function planOf(then: Readonly<Record<string, string>>, now: Record<string, string>): WatchPlan {
  const look = (path: string) => () => now[path] ?? null
  return {
    files: new Map(Object.entries(then).map(([path, print]) => [path, { print, look: look(path) }])),
    lists: new Map([['all', { found: Object.keys(then), look: () => ({ files: Object.keys(now), folders: ['/'] }) }]]),
  }
}

it('names files that changed, appeared or disappeared, each once and in order', () => {
  const plan = planOf({ '/d': '1', '/b': '1', '/c': '1' }, { '/new': '1', '/b': '2', '/c': '1' })
  expect(comparePlan(plan)).toMatchObject({ changed: ['/b', '/d', '/new'], unready: ['/d'], folders: ['/'] })
})

it('names files as not ready that are empty, were truncated, or are new and empty', () => {
  const root = tempTree({ new: '' })
  const fresh = join(root, 'new')
  const plan = planOf({ '/a': '1', '/b': '', '/c': '1' }, { '/a': '', '/b': '', '/c': '2', [fresh]: '' })
  expect(comparePlan(plan)).toMatchObject({ changed: ['/a', '/c', fresh], unready: ['/a', fresh] })
})

it('two states are equal exactly if files and names are equal', () => {
  const now: Record<string, string> = { '/a': '1' }
  const plan = planOf({ '/a': '1' }, now)
  const { state } = comparePlan(plan)
  expect(comparePlan(plan).state).toBe(state)
  now['/b'] = '1'
  expect(comparePlan(plan).state).not.toBe(state)
  delete now['/b']
  now['/a'] = '2'
  expect(comparePlan(plan).state).not.toBe(state)
})

it('accepts the current state', () => {
  const plan = planOf({ '/a': '1', '/b': '1' }, { '/a': '2', '/c': '1' })
  expect(comparePlan(withCurrentState(plan)).changed).toEqual([])
})
