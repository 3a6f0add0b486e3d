import { expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { createEffects } from '../../src/journal/effects.ts'
import type { FilePort } from '../../src/journal/file-port.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import { readValue } from '../../src/journal/cassette.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { type Fault, createFaultyFiles } from './fixtures/faulty-files.ts'
import { createMortalOwners, newRunFolder, recordsIn } from './fixtures/run-folder.ts'
import { effectOf, openGate, placeAt } from '../helpers/effects.ts'
import { core } from '../helpers/series.ts'

const now = (): Date => new Date(0)
const owners = createMortalOwners()
const otherCodes = ['EIO', 'EDQUOT', 'EROFS', 'EMFILE', 'EACCES']
const large = 'large '.repeat(20_000)

interface Attempted {
  /** Places passed to the journal, in order. */
  readonly given: readonly string[]
  /** Those that the journal acknowledged. */
  readonly acknowledged: ReadonlySet<string>
  readonly journal: RunJournal | undefined
}

/** Notes, single and grouped durable records, blobs, an effect, and the end. */
async function workload(folder: string, files: FilePort): Promise<Attempted> {
  const given: string[] = []
  const acknowledged = new Set<string>()
  const journal = await openRun({ folder, now, files, owners }).catch(refused)
  if (journal === undefined) return { given, acknowledged, journal }

  const append = async (place: string, value: string): Promise<void> => {
    given.push(place)
    const number = await journal.append({ k: 'done', p: place, value }).catch(refused)
    if (number !== undefined) acknowledged.add(place)
  }
  const note = (place: string, value: string): void => {
    given.push(place)
    try {
      journal.note({ k: 'done', p: place, value })
    } catch (error) {
      refused(error)
    }
  }
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })

  note('noted', 'small')
  note('noted/large', `noted ${large}`)
  await append('single', 'small')
  await append('single/large', large)
  await Promise.all(['a', 'b', 'c'].map((name) => append(`group/${name}`, `${name} ${large}`)))
  note('noted/late', 'x'.repeat(40_000))
  const answer = await effects
    .perform(placeAt('model'), effectOf({ kind: 'model', request: 'q', repeat: 'unsafe' }), async () => 'answer')
    .catch(refused)
  if (answer !== undefined) acknowledged.add('model')
  await append('last', 'small')
  note('after', 'small')
  await journal.close().catch(refused)
  return { given, acknowledged, journal }
}

function refused(error: unknown): undefined {
  expect(error).toBeInstanceOf(BatonError)
  expect(error).toMatchObject({ code: 'JOURNAL_FAILED' })
  return undefined
}

async function checkKept(folder: string, { given, acknowledged }: Attempted): Promise<readonly JournalRecord[]> {
  const records = await recordsIn(folder)
  const done = records.flatMap((record) => (record.k === 'done' ? [record] : []))
  const places = done.map(({ p }) => p)
  expect(places).toEqual(given.filter((place) => places.includes(place)))
  for (const place of acknowledged) {
    if (place !== 'model') expect(places).toContain(place)
  }
  if (acknowledged.has('model')) {
    const kinds = records.flatMap((record) => (record.k === 'started' || record.k === 'ended' ? [record.k] : []))
    expect(kinds).toEqual(['started', 'ended'])
  }
  for (const { p, value } of done) {
    if (acknowledged.has(p)) expect(await readValue(value, { folder, mask: noMask })).toContain('a')
  }
  return records
}

/** The operations of an undisturbed workload, by name. */
async function allOperations(): Promise<readonly string[]> {
  const files = createFaultyFiles()
  const folder = newRunFolder()
  const attempted = await workload(folder, files)
  expect(attempted.acknowledged.size).toBe(7)
  await checkKept(folder, attempted)
  return files.log
}

function writesOf(operations: readonly string[]): readonly number[] {
  const writes = operations.flatMap((name, index) => (name === 'write' ? [index + 1] : []))
  expect(writes.length).toBeGreaterThan(8)
  return writes
}

async function survives(fault: Fault): Promise<void> {
  const folder = newRunFolder()
  const files = createFaultyFiles(fault)
  const attempted = await workload(folder, files)
  const kept = await checkKept(folder, attempted)

  if (attempted.journal !== undefined) expect(attempted.journal.failure.aborted).toBe(files.hasFailed())

  owners.die()
  const next = await openRun({ folder, now, owners })
  await next.append({ k: 'done', p: 'next start' })
  await next.close()
  const after = await recordsIn(folder)
  expect(after).toHaveLength(kept.length + 1)
  expect(after.at(-1)).toMatchObject({ p: 'next start' })
}

it.each([['ENOSPC'], otherCodes])(
  'loses no acknowledged record when the K-th operation fails with %s',
  async (...codes) => {
    const operations = await allOperations()
    expect(operations.length).toBeGreaterThan(40)
    for (let operation = 1; operation <= operations.length; operation += core(5, 1)) {
      await survives({ operation, when: 'before', code: codes[operation % codes.length] ?? 'EIO' })
    }
  },
)

it('loses no acknowledged record when the K-th operation succeeds but is reported as failed', async () => {
  const operations = await allOperations()
  for (let operation = 1; operation <= operations.length; operation += core(5, 1)) {
    await survives({ operation, when: 'after', code: 'EIO' })
  }
})

it('continues after the K-th write was short, for every K, and loses nothing', async () => {
  for (const operation of writesOf(await allOperations())) {
    const folder = newRunFolder()
    const attempted = await workload(folder, createFaultyFiles({ operation, when: 'short', code: '' }))
    expect(attempted.acknowledged.size).toBe(7)
    await checkKept(folder, attempted)
  }
})

it('never joins two lines when the K-th write is torn by a full disk, for every K', async () => {
  for (const operation of writesOf(await allOperations())) {
    await survives({ operation, when: 'torn', code: 'ENOSPC' })
  }
})

it('reports the first failure to every later call, writes nothing more, and says what to do', async () => {
  const folder = newRunFolder()
  // the first write creates the file with its first record
  const healthy = createFaultyFiles()
  const sample = await openRun({ folder: newRunFolder(), now, files: healthy })
  await sample.append({ k: 'done', p: '' })
  await sample.append({ k: 'done', p: '' })
  await sample.close()
  const files = createFaultyFiles({ operation: healthy.log.lastIndexOf('write') + 1, when: 'before', code: 'ENOSPC' })
  const journal = await openRun({ folder, now, files })
  const failures: unknown[] = []
  journal.failure.addEventListener('abort', () => failures.push(journal.failure.reason))
  const expected = {
    code: 'JOURNAL_FAILED',
    message: `the journal in ${folder} cannot be written: ENOSPC: injected, write`,
    hint: 'Free some space there, or set a different folder with dir in [runs].',
  }
  await journal.append({ k: 'done', p: '' })
  await expect(journal.append({ k: 'done', p: '' })).rejects.toMatchObject(expected)
  const made = files.log.length
  await expect(journal.append({ k: 'done', p: '' })).rejects.toMatchObject(expected)
  await expect(journal.append({ k: 'done', p: '', value: large })).rejects.toMatchObject(expected)
  expect(() => journal.note({ k: 'done', p: '' })).toThrow(expected.message)
  expect(() => journal.push()).toThrow(expected.message)
  await expect(journal.flush()).rejects.toMatchObject(expected)
  expect(files.log).toHaveLength(made)
  await expect(journal.close()).rejects.toMatchObject(expected)
  expect(files.log.slice(made)).toEqual(['close'])
  expect(failures).toEqual([journal.failure.reason])
})

it('reports notes that could not be written when it is closed', async () => {
  const journal = await openRun({
    folder: newRunFolder(),
    now,
    files: createFaultyFiles({ operation: 1, when: 'before', code: 'EROFS' }),
  })
  journal.note({ k: 'done', p: '' })
  await expect(journal.close()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
})
