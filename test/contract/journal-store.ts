import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import type { JournalStore } from '../../src/journal/journal.ts'
import type { Entry, JournalRecord } from '../../src/journal/record.ts'
import type { SecretMask } from '../../src/journal/secrets.ts'

interface StoreUnderTest {
  readonly store: JournalStore
  /** From now on every writer opened so far behaves as if it were killed. */
  readonly killWriters: () => void
  /** The value that a field of a record of `run` represents. */
  readonly valueOf: (run: string, field: Json | undefined) => Promise<unknown>
}

interface StoreFactoryOptions {
  readonly mask: SecretMask
  readonly now: () => Date
}

export type StoreFactory = (options: StoreFactoryOptions) => StoreUnderTest

/** What every `JournalStore` must do. */
export function describeJournalStore(name: string, factory: StoreFactory): void {
  const secret = 'sk-contract-0123456789'
  const mask: SecretMask = {
    mask: (text) => text.replaceAll(secret, '«secret:KEY»'),
    hide: (text) => text.replaceAll(secret, '«secret:KEY»'),
    unmask: (text) => text.replaceAll('«secret:KEY»', secret),
  }
  const make = (now: () => Date = () => new Date(1_700_000_000_000)): StoreUnderTest => factory({ mask, now })

  describe(`journal store: ${name}`, () => {
    it('reads nothing of an unknown run', async () => {
      expect(await recordsOf(make().store)).toEqual([])
    })

    it('leaves nothing of a run that recorded nothing', async () => {
      const { store } = make()
      const journal = await store.open('run')
      await journal.flush()
      await journal.close()
      expect(await recordsOf(store)).toEqual([])
    })

    it('returns records in order, after a header, numbered without gaps', async () => {
      const { store } = make()
      const journal = await store.open('run')
      expect(journal.epoch).toBe(1)
      expect(journal.note(done('a'))).toBe(1)
      expect(await journal.append(done('b'))).toBe(2)
      expect(journal.note(done('c'))).toBe(3)
      await journal.close()
      const records = await recordsOf(store)
      expect(records.map(({ e, n, t, k }) => [e, n, t, k])).toEqual([
        [1, 0, 1_700_000_000_000, 'seg'],
        [1, 1, 1_700_000_000_000, 'done'],
        [1, 2, 1_700_000_000_000, 'done'],
        [1, 3, 1_700_000_000_000, 'done'],
      ])
      expect(placesOf(records)).toEqual(['a', 'b', 'c'])
    })

    it('shows an appended record, and all earlier notes, to a reader at once', async () => {
      const { store } = make()
      const journal = await store.open('run')
      journal.note(done('noted'))
      await journal.append(done('appended'))
      expect(placesOf(await recordsOf(store))).toEqual(['noted', 'appended'])
      await journal.close()
    })

    it('shows pushed or flushed records', async () => {
      const { store } = make()
      const journal = await store.open('run')
      journal.note(done('pushed'))
      journal.push()
      expect(placesOf(await recordsOf(store))).toEqual(['pushed'])
      journal.note(done('flushed'))
      await journal.flush()
      expect(placesOf(await recordsOf(store))).toEqual(['pushed', 'flushed'])
      await journal.close()
    })

    it('accepts records of many callers at once', async () => {
      const { store } = make()
      const journal = await store.open('run')
      const places = Array.from({ length: 300 }, (_, index) => `task/${index}`)
      const numbers = await Promise.all(places.map((place) => journal.append(done(place))))
      expect(numbers).toEqual(places.map((_, index) => index + 1))
      await journal.close()
      expect(placesOf(await recordsOf(store))).toEqual(places)
    })

    it('orders by number, even if the clock jumps', async () => {
      const times = [5, -3_600_000, 86_400_000, 0, 0].values()
      const { store } = make(() => new Date(1_700_000_000_000 + (times.next().value ?? 0)))
      const journal = await store.open('run')
      for (const place of ['a', 'b', 'c', 'd']) journal.note(done(place))
      await journal.close()
      expect(placesOf(await recordsOf(store))).toEqual(['a', 'b', 'c', 'd'])
    })

    it('refuses a second writer while the first is alive', async () => {
      const { store } = make()
      const journal = await store.open('run')
      await journal.append(done('first'))
      await expect(store.open('run')).rejects.toMatchObject({ name: 'BatonError', code: 'USAGE' })
      await journal.close()
    })

    it('lets only one of two writers of a new run record', async () => {
      const { store } = make()
      const [first, second] = [await store.open('run'), await store.open('run')]
      await first.append(done('first'))
      await expect(second.append(done('second'))).rejects.toMatchObject({ code: 'USAGE' })
      await first.close()
      await second.close().catch(() => undefined)
      expect(placesOf(await recordsOf(store))).toEqual(['first'])
    })

    it('reopens an ended run although its process is alive', async () => {
      const { store } = make()
      const journal = await store.open('run')
      await journal.append({ k: 'run.end', exit: 4, stop: 'limit' })
      await journal.close()
      const next = await store.open('run')
      expect(next.epoch).toBe(2)
      await next.close()
    })

    it('continues in a new epoch after the writer died, and fences the dead one', async () => {
      const { store, killWriters } = make()
      const old = await store.open('run')
      await old.append(done('old'))
      expect(old.fenced()).toBe(false)
      killWriters()
      const next = await store.open('run')
      expect(next.epoch).toBe(2)
      expect(old.fenced()).toBe(true)
      expect(next.fenced()).toBe(false)
      await next.append(done('new'))
      await old.append(done('paid late'))
      await Promise.all([old.close(), next.close()])
      const records = await recordsOf(store)
      expect(placesOf(records)).toEqual(['old', 'paid late', 'new'])
      expect(records.map(({ e, n }) => [e, n])).toEqual([
        [1, 0],
        [1, 1],
        [1, 2],
        [2, 0],
        [2, 1],
      ])
    })

    it('restores equal values, whatever they contain', async () => {
      const { store, valueOf } = make()
      const values = [
        undefined,
        null,
        -0,
        NaN,
        Infinity,
        2n ** 70n,
        'line\nbreak \u2028 \0 é 😀 \ud800',
        new Uint8Array([0, 255, 10, 34]),
        { $blob: 'not a blob', bytes: 3 },
        { $plain: { $bytes: 'AA==' } },
        JSON.parse('{"__proto__": {"polluted": true}}') as unknown,
        [{ deep: [1.5, [true, {}]] }, []],
        'x'.repeat(300_000),
        { list: Array.from({ length: 30_000 }, (_, index) => `item ${index}`) },
      ]
      const journal = await store.open('run')
      for (const value of values) journal.note({ k: 'done', p: '', value })
      await journal.close()
      const records = (await recordsOf(store)).flatMap((record) => (record.k === 'done' ? [record] : []))
      const read = await Promise.all(records.map(({ value }) => valueOf('run', value)))
      expect(read).toEqual(values)
    })

    it('keeps secrets out of every record and restores them in values', async () => {
      const { store, valueOf } = make()
      const journal = await store.open('run')
      const args = { [`key ${secret}`]: `value ${secret}!` }
      journal.note({ k: 'obs', p: `pre/${secret}`, name: secret, args, status: 'ok', value: secret })
      await journal.close()
      const records = await recordsOf(store)
      expect(JSON.stringify(records)).not.toContain(secret)
      const [observed] = records.flatMap((record) => (record.k === 'obs' && record.status === 'ok' ? [record] : []))
      expect(await valueOf('run', observed?.args)).toEqual(args)
      expect(await valueOf('run', observed?.value)).toBe(secret)
    })

    it('refuses a value that is not JSON, locates it, and leaves no gap', async () => {
      const { store } = make()
      const journal = await store.open('run')
      const value = { list: [1, () => 2] }
      expect(() => journal.note({ k: 'done', p: 'bad', value })).toThrow('value.list[1] is a function')
      await expect(journal.append({ k: 'done', p: 'bad', value: new Map() })).rejects.toThrow('an instance of Map')
      expect(await journal.append(done('good'))).toBe(1)
      await journal.close()
      expect(placesOf(await recordsOf(store))).toEqual(['good'])
    })

    it('refuses records once it is closed, and can be closed repeatedly', async () => {
      const { store } = make()
      const journal = await store.open('run')
      journal.note(done('before'))
      await journal.close()
      await journal.close()
      expect(() => journal.note(done('after'))).toThrow('already closed')
      await expect(journal.append(done('after'))).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
      expect(placesOf(await recordsOf(store))).toEqual(['before'])
    })
  })
}

function done(place: string): Entry {
  return { k: 'done', p: place, value: place }
}

async function recordsOf(store: JournalStore): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = []
  for await (const reading of store.read('run')) {
    if (reading.type !== 'record') throw new Error(`unexpected ${reading.type}`)
    records.push(reading.record)
  }
  return records
}

function placesOf(records: readonly JournalRecord[]): readonly string[] {
  return records.flatMap((record) => (record.k === 'done' ? [record.p] : []))
}
