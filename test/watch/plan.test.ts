import { expect, it } from 'vitest'
import { asNow, lookAt, type WatchPlan } from '../../src/watch/plan.ts'

/** A plan for files with the content `now`, read when they had the content `then`. */
function planOf(then: Readonly<Record<string, string>>, now: Record<string, string>): WatchPlan {
  const look = (path: string) => () => now[path] ?? null
  return {
    files: new Map(Object.entries(then).map(([path, print]) => [path, { print, look: look(path) }])),
    lists: new Map([['all', { found: Object.keys(then), look: () => ({ files: Object.keys(now), folders: ['/'] }) }]]),
  }
}

it('names what differs, is new or is gone, each once and in order', () => {
  const plan = planOf({ '/d': '1', '/b': '1', '/c': '1' }, { '/new': '1', '/b': '2', '/c': '1' })
  expect(lookAt(plan)).toMatchObject({ changed: ['/b', '/d', '/new'], gone: ['/d'], folders: ['/'] })
})

it('sees the same exactly when files and names are the same', () => {
  const now: Record<string, string> = { '/a': '1' }
  const plan = planOf({ '/a': '1' }, now)
  const { state } = lookAt(plan)
  expect(lookAt(plan).state).toBe(state)
  now['/b'] = '1'
  expect(lookAt(plan).state).not.toBe(state)
  delete now['/b']
  now['/a'] = '2'
  expect(lookAt(plan).state).not.toBe(state)
})

it('takes everything as it is now', () => {
  const plan = planOf({ '/a': '1', '/b': '1' }, { '/a': '2', '/c': '1' })
  expect(lookAt(asNow(plan)).changed).toEqual([])
})
