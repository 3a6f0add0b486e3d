import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../../src/event/event.ts'
import type { PlacedRow, Row } from '../../../src/history/rows.ts'
import { type Position, positionText } from '../../../src/journal/follow.ts'
import { rowsAfter, runEvents } from '../../../src/serve/http/run-events.ts'
import type { RunChanges } from '../../../src/serve/http/run-feed.ts'
import { createLiveTexts, type LiveTexts, noLiveTexts } from '../../../src/journal/live-texts.ts'

// The events that one client gets for a run whose rows are given by the test.

const rowOf = (n: number, state: Row['state'] = 'done'): Row => ({
  n,
  place: `task/${n}`,
  kind: 'task',
  text: '',
  state,
  start: 0,
})

/** A run with these rows; the rows changed by one record are at the same position. */
function feedOf(placed: readonly PlacedRow[], more: Partial<RunChanges> = {}): RunChanges {
  const latest = (): Position => placed.at(-1)?.changed ?? 0
  return {
    position: latest,
    run: () => undefined,
    isOver: () => false,
    listen: () => () => undefined,
    changedAfter: (position) => placed.filter(({ changed }) => changed > position),
    latest,
    callIn: () => undefined,
    left: () => [],
    ...more,
  }
}

/** The events that a client takes, one after the other. */
function* taken(feed: RunChanges, after: Position = 0) {
  const source = runEvents(feed, after, noLiveTexts)(() => undefined)
  for (let text = source.take(); text !== undefined; text = source.take()) yield text
}

const numbersIn = (text: string): readonly number[] => {
  const data = /^event: rows\ndata: (.*)$/m.exec(text)?.[1] ?? '{"rows":[]}'
  return (JSON.parse(data) as { readonly rows: readonly Row[] }).rows.map(({ n }) => n)
}

const idIn = (text: string): string | undefined => /^id: (.*)$/m.exec(text)?.[1]

describe('the events of a run', () => {
  const many = Array.from({ length: 1_200 }, (_, n) => ({ row: rowOf(n), changed: n + 1 }))

  it('contain a limited number of rows, so that a client can draw in between, and each is sent once', () => {
    const texts = [...taken(feedOf(many))]
    expect(texts.map((text) => numbersIn(text).length)).toEqual([500, 500, 200])
    expect(texts.map(idIn)).toEqual(['0.500', '0.1000', '0.1200'])
    expect(texts.flatMap(numbersIn)).toEqual(many.map(({ row }) => row.n))
    // from each of these ids on, the missing events are sent
    expect([...taken(feedOf(many), 1000)].flatMap(numbersIn)).toEqual(many.slice(1000).map(({ row }) => row.n))
  })

  it('keep rows together that one record has changed, because only the last has an id', () => {
    const placed = many.map(({ row }, index) => ({ row, changed: index < 450 ? index + 1 : 451 }))
    const texts = [...taken(feedOf(placed))]
    expect(texts.map((text) => numbersIn(text).length)).toEqual([1_200])
    expect(texts.map(idIn)).toEqual(['0.451'])
  })

  it('are in the order in which things began', () => {
    const placed = [3, 1, 2].map((n, index) => ({ row: rowOf(n), changed: index + 1 }))
    expect([...taken(feedOf(placed))].map(numbersIn)).toEqual([[1, 2, 3]])
  })

  it('start again if records were lost that the client has seen', () => {
    expect([...taken(feedOf(many.slice(0, 3)), 7)].flatMap(numbersIn)).toEqual([0, 1, 2])
  })

  it('end with the rows that have no end', () => {
    const running = [{ row: rowOf(0, 'running'), changed: 1 }]
    const [text = '', ...more] = taken(feedOf(running, { isOver: () => true, left: () => [rowOf(0, 'interrupted')] }))
    expect(text.split('\n\n').map((one) => /event: (\w+)/.exec(one)?.[1])).toEqual(['rows', 'rows', 'over', undefined])
    expect(text).toContain('interrupted')
    expect(more).toEqual([])
  })
})

describe('the current text of a model', () => {
  const agent = 'task/0/ask'
  const call = 'task/0/agent/ask/turn/0#0'
  const event = (type: string, more: object = {}) =>
    ({ type, agent, run_id: 'r', seq: 0, ts: '1970-01-01T00:00:05.000Z', ...more }) as unknown as RunEvent
  const piece = (text: string, more: object = {}) => event('item.delta', { item_id: 'i', text, ...more })
  const said = (text: string | undefined) =>
    [...(text ?? '').matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as object)
  const client = (texts: LiveTexts, feed: Partial<RunChanges> = { callIn: () => call }) =>
    runEvents(feedOf([], feed), 0, texts)(() => undefined)

  it('is sent with its beginning to a client that comes later, and to each what it lacks', () => {
    const texts = createLiveTexts()
    const first = client(texts)
    texts.add(event('item.started'))
    texts.add(piece('hm', { reasoning: true }))
    texts.add(piece('so '))
    expect(said(first.take())).toEqual([
      { place: call, kind: 'reasoning', at: 0, text: 'hm' },
      { place: call, kind: 'text', at: 0, text: 'so ' },
    ])
    texts.add(piece('it is'))
    expect(said(first.take())).toEqual([{ place: call, kind: 'text', at: 3, text: 'it is' }])
    expect(first.take()).toBeUndefined()
    expect(said(client(texts).take()).at(-1)).toEqual({ place: call, kind: 'text', at: 0, text: 'so it is' })
  })

  it('waits for the row of its call, and is never that of an earlier one', () => {
    const texts = createLiveTexts()
    let started = 4_999
    const { take } = client(texts, { callIn: (_, since) => (started >= since ? call : undefined) })
    texts.add(event('item.started'))
    texts.add(piece('so'))
    expect(take()).toBeUndefined()
    started = 5_000
    expect(said(take())).toMatchObject([{ at: 0, text: 'so' }])
  })

  it('starts over when its call is tried again, and ends with it', () => {
    const texts = createLiveTexts()
    const { take } = client(texts)
    texts.add(event('item.started'))
    texts.add(piece('so it'))
    take()
    texts.add(event('retry', { item_id: 'i' }))
    texts.add(piece('no'))
    expect(said(take())).toMatchObject([{ at: 0, text: 'no' }])
    texts.add(piece('!'))
    texts.add(event('item.completed'))
    expect(take()).toBeUndefined()
  })

  it('is kept up to a limit', () => {
    const texts = createLiveTexts()
    texts.add(event('item.started'))
    for (let count = 0; count < 2_000; count += 1) texts.add(piece('x'.repeat(1_000)))
    expect((client(texts).take() ?? '').length).toBeLessThan(1_001_000)
  })
})

describe('the rows after a cursor', () => {
  it('are the remaining ones in their current state, whether or not they have changed since', () => {
    const placed = [
      { row: rowOf(0, 'running'), changed: 1 },
      { row: rowOf(1, 'running'), changed: 2 },
    ]
    const left = [rowOf(0, 'interrupted'), rowOf(1, 'interrupted')]
    expect(rowsAfter(feedOf(placed, { isOver: () => true, left: () => left }), 1)).toEqual({
      rows: left,
      cursor: positionText(2),
      over: true,
    })
  })
})
