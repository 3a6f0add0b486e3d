import { describe, expect, it } from 'vitest'
import type { PlacedRow, Row } from '../../../src/history/rows.ts'
import { type Position, positionText } from '../../../src/journal/follow.ts'
import { rowsAfter, runEvents } from '../../../src/serve/http/run-events.ts'
import type { RunFeed } from '../../../src/serve/http/run-feed.ts'
import type { Delta } from '../../../src/serve/workers/messages.ts'

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
function feedOf(placed: readonly PlacedRow[], more: Partial<RunFeed> = {}): RunFeed {
  const latest = (): Position => placed.at(-1)?.changed ?? 0
  return {
    refresh: async () => undefined,
    reads: () => 1,
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

const nobody = () => () => undefined

/** The events that a client takes, one after the other. */
function* taken(feed: RunFeed, after: Position = 0) {
  const source = runEvents(feed, after, nobody)(() => undefined)
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
  const delta = (text: string, kind: Delta['kind'] = 'text'): Delta => ({ place: 'task/0/ask', kind, text })

  function heard(callIn: () => string | undefined) {
    let reads = 1
    let say: ((one: Delta) => void) | undefined
    const feed = feedOf([], { reads: () => reads, callIn })
    const source = runEvents(feed, 0, (listener) => {
      say = listener
      return () => undefined
    })(() => undefined)
    return { say: (one: Delta) => say?.(one), take: () => source.take(), read: () => void (reads += 1) }
  }

  const said = (text: string | undefined) =>
    [...(text ?? '').matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Delta)

  it('is sent in few events, with the place of the row of the call', () => {
    const { say, take } = heard(() => 'task/0/agent/ask/turn/0#0')
    say(delta('hm', 'reasoning'))
    say(delta('so '))
    say(delta('it is'))
    expect(said(take())).toEqual([
      { place: 'task/0/agent/ask/turn/0#0', kind: 'reasoning', text: 'hm' },
      { place: 'task/0/agent/ask/turn/0#0', kind: 'text', text: 'so it is' },
    ])
    expect(take()).toBeUndefined()
  })

  it('waits for the row of its call, and is omitted after the call has ended', () => {
    let call: string | undefined
    const { say, take, read } = heard(() => call)
    say(delta('so'))
    expect(take()).toBeUndefined()
    read()
    call = 'task/0/agent/ask/turn/0#0'
    expect(said(take()).map(({ text }) => text)).toEqual(['so'])
    call = undefined
    say(delta('it is'))
    read()
    read()
    expect(take()).toBeUndefined()
    call = 'task/0/agent/ask/turn/1#0'
    expect(take()).toBeUndefined()
  })

  it('is omitted if a client accepts nothing', () => {
    const { say, take } = heard(() => 'main#0')
    for (let count = 0; count < 1_000; count += 1) say(delta('x'.repeat(1_000)))
    expect((take() ?? '').length).toBeLessThan(300_000)
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
