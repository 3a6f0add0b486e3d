import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { Effects } from '../../src/event/effects.ts'
import { item, part, type Place, placeText } from '../../src/event/place.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { createMemoryEffects, openMemoryRecords } from '../helpers/memory-journal.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createReplayedEffects } from '../../src/journal/replayed-effects.ts'
import { createResumedEffects } from '../../src/journal/resumed-effects.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openGate, placeAt } from '../helpers/effects.ts'

const section = placeAt('task/0/files')
const search = (pattern: string) => ({ name: 'grep', args: [pattern] })
/** The result of a search for a pattern; some are faster than others. */
const find = (pattern: string, ms: number) => async (): Promise<readonly string[]> => {
  await wait(ms)
  return [`${pattern}.ts`]
}
const never = (): Promise<never> => Promise.reject(new Error('searched again'))

interface Resumed {
  readonly effects: Effects
  readonly records: readonly JournalRecord[]
}

async function resume(records: readonly JournalRecord[]): Promise<Resumed> {
  const later: JournalRecord[] = []
  const journal = createMemoryJournal({ epoch: 2, keep: (record) => later.push(record) })
  const effects = createResumedEffects({
    index: await indexRun(openMemoryRecords(records, noMask), { keeps: 'unfinished' }),
    journal,
    live: createEffects({ ...openGate, journal, signal: new AbortController().signal }),
    onRepeat: () => {},
    onRecall: () => {},
    onShow: () => {},
    usesCurrent: false,
  })
  return { effects, records: later }
}

async function replay(records: readonly JournalRecord[]): Promise<Effects> {
  const index = await indexRun(openMemoryRecords(records, noMask), { keeps: 'everything' })
  const scratch = { change: () => {} }
  return createReplayedEffects({ index, signal: undefined, files: { kind: 'recorded', scratch } }).effects
}

/** Concurrent searches below one place; the first one takes longest. */
const patterns = ['slow', 'middle', 'quick']
const placeOf = (index: number): Place => [...section, item(index)]
const searchAll = (effects: Effects, read: (pattern: string, index: number) => () => Promise<readonly string[]>) =>
  Promise.all(
    patterns.map((pattern, index) => effects.observeAsync(placeOf(index), search(pattern), read(pattern, index))),
  )
const found = patterns.map((pattern) => [`${pattern}.ts`])
const takingTurns = (pattern: string, index: number) => find(pattern, 30 - index * 14)

describe('an asynchronous observation', () => {
  it('is one record, made when it ends: with its call, its value or its error', async () => {
    const effects = createMemoryEffects()
    let release = (): void => {}
    const reading = effects.observeAsync(
      section,
      search('x'),
      () => new Promise<string[]>((resolve) => (release = () => resolve(['x.ts']))),
    )
    await wait(1)
    expect(effects.records).toEqual([])
    release()
    expect(await reading).toEqual(['x.ts'])
    const failure = new BatonError('OUTSIDE_WORKSPACE', 'not there')
    await expect(effects.observeAsync(section, search('y'), () => Promise.reject(failure))).rejects.toBe(failure)
    expect(effects.records).toMatchObject([
      { k: 'obs', p: 'task/0/files', ...search('x'), status: 'ok', value: ['x.ts'] },
      { k: 'obs', p: 'task/0/files', ...search('y'), status: 'error', error: { code: 'OUTSIDE_WORKSPACE' } },
    ])
  })

  it('is not recorded when the run was stopped meanwhile, and does not start afterwards', async () => {
    const stop = new AbortController()
    const effects = createMemoryEffects({ signal: stop.signal })
    const reading = effects.observeAsync(section, search('x'), async () => {
      await wait(1)
      stop.abort(new BatonError('ABORTED', 'stopped'))
      throw new Error('cut short')
    })
    await expect(reading).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(effects.observeAsync(section, search('x'), never)).rejects.toMatchObject({ code: 'ABORTED' })
    expect(effects.records).toEqual([])
  })

  it('does not mix with concurrent ones below the same place, whichever ends first', async () => {
    const effects = createMemoryEffects()
    expect(await searchAll(effects, takingTurns)).toEqual(found)
    const places = effects.records.map((record) => 'p' in record && record.p)
    expect(places).toEqual([2, 1, 0].map((index) => placeText(placeOf(index))))

    const again = await resume(effects.records)
    expect(await searchAll(again.effects, () => never)).toEqual(found)
    expect(again.records).toEqual([])
    expect(await searchAll(await replay(effects.records), () => never)).toEqual(found)
  })

  it('is repeated by a resume only if it had not ended: the others are answered', async () => {
    const effects = createMemoryEffects()
    await searchAll(effects, takingTurns)
    // killed after the first of them was recorded
    const { effects: resumed, records } = await resume(effects.records.slice(0, 1))
    const asked: string[] = []
    const all = await searchAll(resumed, (pattern) => async () => {
      asked.push(pattern)
      return [`${pattern}.ts`]
    })
    expect(all).toEqual(found)
    expect(asked).toEqual(['slow', 'middle'])
    expect(records).toHaveLength(2)
  })

  it('diverges if another one is requested', async () => {
    const effects = createMemoryEffects()
    await searchAll(effects, takingTurns)
    for (const answering of [(await resume(effects.records)).effects, await replay(effects.records)]) {
      await expect(answering.observeAsync(placeOf(0), search('other'), never)).rejects.toMatchObject({
        code: 'DIVERGED',
        message: expect.stringContaining('grep("other")'),
      })
    }
  })

  it('that failed is repeated by a resume, unless the work continued after it', async () => {
    const effects = createMemoryEffects()
    const turn = placeAt('task/0/data')
    const call = (number: number): Place => [...turn, { kind: 'call', number }]
    const fail = (): Promise<never> => Promise.reject(new Error('no'))
    await expect(effects.observeAsync(call(0), search('x'), fail)).rejects.toThrow('no')
    const early = await resume(effects.records)
    expect(await early.effects.observeAsync(call(0), search('x'), async () => 1)).toBe(1)

    await effects.observeAsync(call(1), search('y'), async () => 2)
    const late = await resume(effects.records)
    await expect(late.effects.observeAsync(call(0), search('x'), never)).rejects.toThrow('no')
    expect(await late.effects.observeAsync(call(1), search('y'), never)).toBe(2)
  })

  it('and a synchronous one are distinguished only by their places', async () => {
    const effects = createMemoryEffects()
    const now = effects.observe([...section, part('time')], { name: 'time', args: [] }, () => 7)
    const files = effects.observeAsync(section, search('x'), find('x', 1))
    expect([now, await files]).toEqual([7, ['x.ts']])
    const { effects: resumed } = await resume(effects.records)
    const at = [...section, part('time')]
    expect(await resumed.observeAsync(at, { name: 'time', args: [] }, never)).toBe(7)
    expect(resumed.observe(section, search('x'), () => [])).toEqual(['x.ts'])
  })
})
