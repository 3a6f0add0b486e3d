import { describe, expect, it } from 'vitest'
import type { Location } from '../../src/journal/tree.ts'
import type { RunIndex } from '../../src/journal/run-index.ts'
import { startedEffects } from '../../src/journal/uncertain.ts'
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
  it('invalidates all older records at and below it, and nothing next to it', async () => {
    const first = [begin('a'), obs('a#0'), started('a#1'), ended('a#1', 3), begin('a#2/b'), obs('ab'), obs('a#2/b#0')]
    const index = await indexOf([first, [begin('a')]])
    expect(['a#0', 'a#1', 'a#2/b', 'a#2/b#0'].map((place) => index.tree.find(place))).toEqual(Array(4).fill(undefined))
    expect(answerAt(index, 'ab')).toBe('ab')
    expect(index.tree.find('a')?.begin).toBeDefined()
  })

  it('makes the outer ones unfinished, while their other parts still answer', async () => {
    const first = [begin('a'), begin('a/b'), obs('a/b#0'), done('a/b'), begin('a/c'), done('a/c'), done('a'), done('x')]
    const index = await indexOf([first, [begin('a/c')]])
    expect([index.tree.find('a')?.done, index.tree.find('a/c')?.done]).toEqual([undefined, undefined])
    expect(valueAt(index, index.tree.find('a/b')?.done)).toBe('a/b')
    expect(valueAt(index, index.tree.find('x')?.done)).toBe('x')
    expect(answerAt(index, 'a/b#0')).toBe('a/b#0')
  })

  it('has the state of its last start', async () => {
    const index = await indexOf([
      [begin('a'), obs('a#0', 'old'), obs('a#1', 'old')],
      [begin('a'), obs('a#0', 'new')],
    ])
    expect([answerAt(index, 'a#0'), answerAt(index, 'a#1')]).toEqual(['new', 'nothing'])
  })
})

describe('a finished boundary', () => {
  const parts = [begin('a'), obs('a#0'), begin('a/b'), done('a/b'), done('a')]

  it('drops its contents when nobody can ask for them', async () => {
    const index = await indexOf([parts])
    expect(valueAt(index, index.tree.find('a')?.done)).toBe('a')
    expect([index.tree.find('a/b'), index.tree.find('a#0')]).toEqual([undefined, undefined])
  })

  it('keeps its contents when everything is requested, around a part to rerun, or if a later writer followed', async () => {
    const everything = await indexOf([parts], { keeps: 'everything' })
    const around = await indexOf([parts], { keeps: 'unfinished', from: 'a/b' })
    const older = await indexOf([parts, [obs('x')]])
    for (const index of [everything, around, older]) expect(answerAt(index, 'a#0')).toBe('a#0')
    expect(await indexOf([parts], { keeps: 'unfinished', from: 'ab' }).then((index) => index.tree.find('a#0'))).toBe(
      undefined,
    )
  })

  it('keeps the output shown in it, in order', async () => {
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

  it('that was restarted no longer counts as failed', async () => {
    const index = await indexOf([[started('a#0'), failed('a#0', 1)], [started('a#0')]])
    expect(index.tree.find('a#0')).toMatchObject({ started: expect.any(Number) as number })
    expect(index.tree.find('a#0')?.ended).toBe(undefined)
  })

  it('has the end that an overtaken writer recorded late, unless a later one has its own', async () => {
    const late = [started('a#0'), ended('a#0', 1, 'late')]
    expect(endAt(await indexOf([late, [started('a#0')]]), 'a#0')).toBe('late')
    expect(endAt(await indexOf([late, [started('a#0'), failed('a#0', 1)]]), 'a#0')).toBe('late')
    const index = await indexOf([late, [started('a#0', { fp: 'new' }), ended('a#0', 1, 'own')]])
    expect(endAt(index, 'a#0')).toBe('own')
    expect(index.source.at(index.tree.find('a#0')?.started ?? 0)).toMatchObject({ e: 2, fp: 'new' })
  })

  it('that was followed by an observation at its place had no result', async () => {
    const index = await indexOf([[started('a#0'), failed('a#0', 1)], [obs('a#0')]])
    expect(index.tree.find('a#0')).toEqual({ answer: expect.any(Number) as number })
    expect((await indexOf([[obs('a#0')], [started('a#0')]])).tree.find('a#0')?.answer).toBe(undefined)
  })

  it('follows the decision of a person, and counts as never started if it is to be repeated', async () => {
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

describe('effects with an unknown end', () => {
  const placesOf = (index: RunIndex): readonly string[] => startedEffects(index).map(({ place }) => place)
  const failedCall = (p: string): ReturnType<typeof obs> => ({
    k: 'call',
    p,
    name: 'run',
    args: [],
    status: 'error',
    error: failure,
  })

  it('are those without an end, and failed ones that nothing followed, in the order of their starts', async () => {
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

  it('are not in calls that have returned, unless they failed and are repeated', async () => {
    const inner = [started('a#0/b'), failed('a#0/b', 1), started('a#0')]
    expect(placesOf(await indexOf([[...inner, call('a#0')]]))).toEqual([])
    expect(placesOf(await indexOf([[...inner, failedCall('a#0'), obs('a#1')]]))).toEqual([])
    expect(placesOf(await indexOf([[...inner, failedCall('a#0')]]))).toEqual(['a#0/b', 'a#0'])
  })
})

it('returns the records about the whole run in order', async () => {
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

describe('processes that may still be running', () => {
  const writer = { k: 'seg', v: 2, pid: 7, start: 'ticks:70', boot: 'b', host: 'h' } as const
  const child = (s: number, pid: number, more: { readonly stays?: true } = {}) =>
    ({ k: 'process', p: 'a#0', s, pid, start: `ticks:${pid}`, ...more }) as const
  const left = async (...epochs: Parameters<typeof indexOf>[0]): Promise<readonly number[]> =>
    (await indexOf(epochs)).processes().map(({ pid }) => pid)

  it('are those of effects without an end, with the writer that started them', async () => {
    const index = await indexOf([[writer, started('a#0'), child(2, 50), child(2, 51)]])
    expect(index.processes()).toMatchObject([
      { place: 'a#0', pid: 50, start: 'ticks:50', writer: { pid: 7, start: 'ticks:70', boot: 'b' } },
      { pid: 51 },
    ])
    expect(await left([writer, started('a#0'), child(2, 50), ended('a#0', 2)])).toEqual([])
  })

  it('are those started to stay, until the run has ended', async () => {
    const staying = [writer, started('a#0'), child(2, 50, { stays: true }), ended('a#0', 2)]
    expect(await left(staying)).toEqual([50])
    expect(await left([...staying, { k: 'run.end', exit: 0, stop: 'done' }])).toEqual([])
    expect(await left(staying, [writer, started('a#1')])).toEqual([50])
  })

  it('are not those of older writers that a later one has seen: it ended them before it started its own', async () => {
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
