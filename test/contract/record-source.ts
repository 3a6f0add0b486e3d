import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/journal/record.ts'
import { costBelow } from '../../src/journal/paid-calls.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import type { RecordSource } from '../../src/journal/source.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { startedEffects } from '../../src/journal/uncertain.ts'
import { begin, call, done, ended, obs, started } from '../journal/fixtures/records.ts'
import type { StoreFactory } from './journal-store.ts'

/** What an index requires of the records of every `JournalStore`. */
export function describeRecordSource(name: string, factory: StoreFactory): void {
  const secret = 'sk-contract-0123456789'
  const mask = {
    ...noMask,
    mask: (text: string) => text.replaceAll(secret, '«secret:KEY»'),
    unmask: (text: string) => text.replaceAll('«secret:KEY»', secret),
  }

  /** The records of a run after each of its writers was killed. */
  async function recorded(epochs: readonly (readonly Entry[])[]): Promise<RecordSource> {
    const { store, killWriters } = factory({ mask, now: () => new Date(1_700_000_000_000) })
    for (const entries of epochs) {
      const journal = await store.open('run')
      for (const entry of entries) journal.note(entry)
      await journal.close()
      killWriters()
    }
    return store.records('run')
  }

  async function scanned(
    source: RecordSource,
  ): Promise<readonly (readonly [e: number, n: number, k: string, isLast: boolean])[]> {
    const all: (readonly [number, number, string, boolean])[] = []
    expect(await source.scan(({ e, n, k }, _, isLast) => all.push([e, n, k, isLast]))).toEqual([])
    return all
  }

  describe(`records for an index: ${name}`, () => {
    it('are empty for an unknown run', async () => {
      const source = await recorded([])
      expect(await scanned(source)).toEqual([])
      source.close()
    })

    it('are in the order of epoch and number, and name the newest writer', async () => {
      const source = await recorded([[begin('a'), obs('a#0')], [obs('a#1')]])
      expect(await scanned(source)).toEqual([
        [1, 0, 'seg', false],
        [1, 1, 'begin', false],
        [1, 2, 'obs', false],
        [2, 0, 'seg', true],
        [2, 1, 'obs', true],
      ])
      source.close()
    })

    it('are at increasing positions, and can be read completely from there', async () => {
      const places = ['a', 'é "quoted" \\ / 😀\n', 'x'.repeat(5000), '%2F', '']
      const source = await recorded([places.map((p) => obs(p)), places.map((p) => done(p))])
      const seen: number[] = []
      await source.scan((record, location) => {
        seen.push(location)
        expect(source.at(location)).toEqual(record)
      })
      expect(seen).toEqual(seen.toSorted((left, right) => left - right))
      expect(new Set(seen).size).toBe(12)
      source.close()
    })

    it('restore values, whatever they contain, also when nothing else is read', async () => {
      const value = { secret, list: [undefined, 2n ** 70n, new Uint8Array([0, 255])], large: 'x'.repeat(300_000) }
      const source = await recorded([[obs('a', value)]])
      const index = await indexRun(source, { keeps: 'unfinished' })
      const record = source.at(index.tree.find('a')?.answer ?? 0)
      expect(JSON.stringify(record)).not.toContain(secret)
      expect(record.k === 'obs' && record.status === 'ok' && source.value(record.value)).toEqual(value)
      expect(source.value(undefined)).toBe(undefined)
      source.close()
    })

    it('make an index that knows what is finished, answered, open and paid', async () => {
      const cost = { calls: 1, tokens: 5, usd: 0.5 }
      const source = await recorded([
        [begin('a'), started('a/model'), { ...ended('a/model', 2), cost } as Entry, done('a')],
        [begin('b'), obs('b#0'), call('b#1'), started('b#2', { estimate: { tokens: 7, usd: 0.25 } })],
      ])
      const index = await indexRun(source, { keeps: 'unfinished' })
      expect(index.tree.find('a')?.done).toBeDefined()
      expect(index.tree.find('b#0')).toEqual({ answer: expect.any(Number) as number })
      expect(index.tree.find('b#1')).toEqual({ returned: expect.any(Number) as number })
      expect(startedEffects(index).map(({ place, started: { e, n } }) => [place, e, n])).toEqual([['b#2', 2, 4]])
      expect(costBelow(index)).toEqual({ calls: 2, tokens: 12, usd: 0.75 })
      source.close()
    })

    it('make an index of what exists, wherever the writer was killed', async () => {
      const entries = [begin('a'), obs('a#0'), started('a#1'), ended('a#1', 3), call('a#1'), done('a'), obs('b#0')]
      for (let count = 0; count <= entries.length; count += 1) {
        const source = await recorded([entries.slice(0, count), [obs('later')]])
        const { tree } = await indexRun(source, { keeps: 'unfinished' })
        const known = [
          tree.find('a')?.begin,
          tree.find('a#0')?.answer,
          tree.find('a#1')?.started,
          tree.find('a#1')?.ended,
        ]
        const more = [tree.find('a#1')?.returned, tree.find('a')?.done, tree.find('b#0')?.answer]
        expect([...known, ...more].filter((location) => location !== undefined)).toHaveLength(count)
        source.close()
      }
    })
  })
}
