import { describe, expect, it } from 'vitest'
import type { Location } from '../../src/journal/tree.ts'
import type { RunIndex } from '../../src/journal/run-index.ts'
import { begunEffects } from '../../src/journal/uncertain.ts'
import { begin, call, done, ended, failed, failure, indexOf, obs, started } from './fixtures/records.ts'

function valueAt({ source }: RunIndex, location: Location | undefined): unknown {
  if (location === undefined) return 'nothing'
  const record = source.at(location)
  return 'value' in record ? record.value : record.k
}

function answerAt(index: RunIndex, place: string): unknown {
  return valueAt(index, index.tree.find(place)?.answer)
}

describe('a boundary that begins', () => {
  it('makes all older records at and below it void, and nothing beside it', async () => {
    const first = [begin('a'), obs('a#0'), started('a#1'), ended('a#1', 3), begin('a#2/b'), obs('ab'), obs('a#2/b#0')]
    const index = await indexOf([first, [begin('a')]])
    expect(['a#0', 'a#1', 'a#2/b', 'a#2/b#0'].map((place) => index.tree.find(place))).toEqual(Array(4).fill(undefined))
    expect(answerAt(index, 'ab')).toBe('ab')
    expect(index.tree.find('a')?.begin).toBeDefined()
  })

  it('makes those around it unfinished, whose other parts still answer', async () => {
    const first = [begin('a'), begin('a/b'), obs('a/b#0'), done('a/b'), begin('a/c'), done('a/c'), done('a'), done('x')]
    const index = await indexOf([first, [begin('a/c')]])
    expect([index.tree.find('a')?.done, index.tree.find('a/c')?.done]).toEqual([undefined, undefined])
    expect(valueAt(index, index.tree.find('a/b')?.done)).toBe('a/b')
    expect(valueAt(index, index.tree.find('x')?.done)).toBe('x')
    expect(answerAt(index, 'a/b#0')).toBe('a/b#0')
  })

  it('is what it was when it began last', async () => {
    const index = await indexOf([
      [begin('a'), obs('a#0', 'old'), obs('a#1', 'old')],
      [begin('a'), obs('a#0', 'new')],
    ])
    expect([answerAt(index, 'a#0'), answerAt(index, 'a#1')]).toEqual(['new', 'nothing'])
  })
})

describe('a finished boundary', () => {
  const parts = [begin('a'), obs('a#0'), begin('a/b'), done('a/b'), done('a')]

  it('forgets what is in it when nobody can ask for it', async () => {
    const index = await indexOf([parts])
    expect(valueAt(index, index.tree.find('a')?.done)).toBe('a')
    expect([index.tree.find('a/b'), index.tree.find('a#0')]).toEqual([undefined, undefined])
  })

  it('keeps it when everything is asked for, around a part that is to be rerun, or where a later writer followed', async () => {
    const everything = await indexOf([parts], { keeps: 'everything' })
    const around = await indexOf([parts], { keeps: 'unfinished', from: 'a/b' })
    const older = await indexOf([parts, [obs('x')]])
    for (const index of [everything, around, older]) expect(answerAt(index, 'a#0')).toBe('a#0')
    expect(await indexOf([parts], { keeps: 'unfinished', from: 'ab' }).then((index) => index.tree.find('a#0'))).toBe(
      undefined,
    )
  })

  it('keeps what was shown in it, in order', async () => {
    const show = (p: string): ReturnType<typeof obs> => ({ k: 'show', p, event: p })
    const index = await indexOf([
      [begin('a'), show('a'), begin('a/b'), show('a/b#0'), done('a/b'), show('a'), done('a'), show('x')],
    ])
    const node = index.tree.find('a')
    expect(node && index.shows(node).map((record) => record.k === 'show' && record.event)).toEqual(['a', 'a/b#0', 'a'])
  })
})

describe('an effect', () => {
  const endAt = (index: RunIndex, place: string): unknown => valueAt(index, index.tree.find(place)?.ended)

  it('that began again is no longer the one that failed', async () => {
    const index = await indexOf([[started('a#0'), failed('a#0', 1)], [started('a#0')]])
    expect(index.tree.find('a#0')).toMatchObject({ started: expect.any(Number) as number })
    expect(index.tree.find('a#0')?.ended).toBe(undefined)
  })

  it('has the end that an overtaken writer has recorded late, unless a later one has its own', async () => {
    const late = [started('a#0'), ended('a#0', 1, 'late')]
    expect(endAt(await indexOf([late, [started('a#0')]]), 'a#0')).toBe('late')
    expect(endAt(await indexOf([late, [started('a#0'), failed('a#0', 1)]]), 'a#0')).toBe('late')
    const index = await indexOf([late, [started('a#0', { fp: 'new' }), ended('a#0', 1, 'own')]])
    expect(endAt(index, 'a#0')).toBe('own')
    expect(index.source.at(index.tree.find('a#0')?.started ?? 0)).toMatchObject({ e: 2, fp: 'new' })
  })

  it('that was followed by an observation at its place came to nothing', async () => {
    const index = await indexOf([[started('a#0'), failed('a#0', 1)], [obs('a#0')]])
    expect(index.tree.find('a#0')).toEqual({ answer: expect.any(Number) as number })
    expect((await indexOf([[obs('a#0')], [started('a#0')]])).tree.find('a#0')?.answer).toBe(undefined)
  })

  it('takes what a person has decided about it, and has never begun when that is to do it again', async () => {
    const choice = (of: number, word: 'redo' | 'done' | 'fail' | 'found') =>
      ({ k: 'choice', p: `a#${of}`, of: [1, of], choice: word }) as const
    const index = await indexOf([
      [started('a#1'), started('a#2'), started('a#3'), failed('a#3', 3), started('a#4')],
      [choice(1, 'done'), choice(2, 'fail'), choice(3, 'redo'), choice(4, 'found')],
    ])
    expect([1, 2, 3, 4].map((number) => index.tree.find(`a#${number}`)?.choice)).toEqual([
      'done',
      'fail',
      undefined,
      'found',
    ])
    expect(index.tree.find('a#3')).toEqual({})
  })
})

describe('effects whose end is not known', () => {
  const placesOf = (index: RunIndex): readonly string[] => begunEffects(index).map(({ place }) => place)
  const failedCall = (p: string): ReturnType<typeof obs> => ({
    k: 'call',
    p,
    name: 'run',
    args: [],
    status: 'error',
    error: failure,
  })

  it('are those that began and did not end, or failed where nothing followed, in the order they began', async () => {
    const records = [
      begin('a'),
      started('a#0'),
      ended('a#0', 2),
      started('a#1'),
      failed('a#1', 4),
      obs('a#2'),
      started('b/model'),
      started('a#3'),
    ]
    expect(placesOf(await indexOf([records]))).toEqual(['b/model', 'a#3'])
    expect(placesOf(await indexOf([[started('a#0'), failed('a#0', 1)]]))).toEqual(['a#0'])
  })

  it('are not in finished boundaries', async () => {
    const records = [begin('a'), started('a#0'), done('a')]
    for (const epochs of [[records], [records, [obs('x')]]]) expect(placesOf(await indexOf(epochs))).toEqual([])
  })

  it('are not in calls that have returned, unless they failed and are made again', async () => {
    const inner = [started('a#0/b'), failed('a#0/b', 1), started('a#0')]
    expect(placesOf(await indexOf([[...inner, call('a#0')]]))).toEqual([])
    expect(placesOf(await indexOf([[...inner, failedCall('a#0'), obs('a#1')]]))).toEqual([])
    expect(placesOf(await indexOf([[...inner, failedCall('a#0')]]))).toEqual(['a#0/b', 'a#0'])
  })
})

it('gives the records about the whole run in order', async () => {
  const start = { k: 'run.start', run: 'r', file: 'a.md', hash: 'ff', version: '1' } as const
  const end = { k: 'run.end', exit: 1, stop: 'failed' } as const
  const index = await indexOf([[start, begin('a'), end], [{ ...end, exit: 0 }]])
  expect(index.records('run.start')).toMatchObject([{ run: 'r' }])
  expect(index.records('run.end')).toMatchObject([
    { e: 1, exit: 1 },
    { e: 2, exit: 0 },
  ])
  expect(index.records('source')).toEqual([])
})

describe('processes that may still run', () => {
  const writer = { k: 'seg', v: 2, pid: 7, start: 'ticks:70', boot: 'b', host: 'h' } as const
  const child = (s: number, pid: number, more: { readonly stays?: true } = {}) =>
    ({ k: 'process', p: 'a#0', s, pid, start: `ticks:${pid}`, ...more }) as const
  const left = async (...epochs: Parameters<typeof indexOf>[0]): Promise<readonly number[]> =>
    (await indexOf(epochs)).processes().map(({ pid }) => pid)

  it('are those of effects without an end, with the writer that has started them', async () => {
    const index = await indexOf([[writer, started('a#0'), child(2, 50), child(2, 51)]])
    expect(index.processes()).toMatchObject([
      { place: 'a#0', pid: 50, start: 'ticks:50', writer: { pid: 7, start: 'ticks:70', boot: 'b' } },
      { pid: 51 },
    ])
    expect(await left([writer, started('a#0'), child(2, 50), ended('a#0', 2)])).toEqual([])
  })

  it('are those that stay, until the run has ended', async () => {
    const staying = [writer, started('a#0'), child(2, 50, { stays: true }), ended('a#0', 2)]
    expect(await left(staying)).toEqual([50])
    expect(await left([...staying, { k: 'run.end', exit: 0, stop: 'done' }])).toEqual([])
    expect(await left(staying, [writer, started('a#1')])).toEqual([50])
  })

  it('are not those of older writers that a later one has seen: it has ended them before it started its own', async () => {
    const own = [started('a#0'), child(2, 50), child(2, 51, { stays: true })]
    const later = [started('a#1'), child(2, 60)]
    expect(await left([writer, ...own], [writer, ...later])).toEqual([60])
    for (const other of [{ boot: 'c' }, { ns: 'container' }]) {
      expect((await left([{ ...writer, ...other }, ...own], [writer, ...later])).toSorted()).toEqual([50, 51, 60])
    }
    const simple = { ...writer, boot: '' }
    expect(await left([simple, ...own], [{ ...simple, pid: 8 }, ...later])).toEqual([60])
    expect((await left([simple, ...own], [{ ...simple, host: 'i' }, ...later])).toSorted()).toEqual([50, 51, 60])
  })
})
