import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../helpers/memory-journal.ts'
import { readValue } from '../../src/journal/cassette.ts'
import { type FilePort, nodeFiles } from '../../src/journal/file-port.ts'
import { createFileStore, openRun } from '../../src/journal/store.ts'
import { decodeValue } from '../../src/journal/value.ts'
import { type StoreFactory, describeJournalStore } from '../contract/journal-store.ts'
import { describeRecordSource } from '../contract/record-source.ts'
import { createFaultyFiles } from './fixtures/faulty-files.ts'
import { createMortalOwners, newRunFolder, recordsIn } from './fixtures/run-folder.ts'

const now = (): Date => new Date(0)

const files: StoreFactory = (options) => {
  const owners = createMortalOwners()
  const root = dirname(newRunFolder())
  return {
    store: createFileStore(root, { ...options, owners }),
    killWriters: owners.die,
    valueOf: (run, field) => readValue(field, { folder: join(root, run), mask: options.mask }),
  }
}

const memory: StoreFactory = (options) => {
  const owners = createMortalOwners()
  return {
    store: createMemoryStore({ ...options, owners }),
    killWriters: owners.die,
    valueOf: async (_, field) => (field === undefined ? undefined : decodeValue(field, options.mask.unmask)),
  }
}

for (const [name, factory] of Object.entries({ files, memory })) {
  describeJournalStore(name, factory)
  describeRecordSource(name, factory)
}

describe('openRun', () => {
  it('creates the folder with its first record, readable only by its user', async () => {
    const folder = newRunFolder()
    const journal = await openRun({ folder, now })
    expect(() => statSync(dirname(folder))).toThrow('ENOENT')
    journal.note({ k: 'done', p: '', value: 'x'.repeat(100_000) })
    await journal.close()
    const modes = [folder, join(folder, 'blobs'), join(folder, 'j-000001.jsonl')].map((path) => statSync(path).mode)
    expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(['700', '700', '600'])
    expect(readdirSync(folder).toSorted()).toEqual(['blobs', 'j-000001.jsonl'])
  })

  it('puts values over 64 KB, and only those, into one blob each', async () => {
    const folder = newRunFolder()
    const journal = await openRun({ folder, now })
    const large = 'é'.repeat(40_000)
    const exact = 'x'.repeat(64 * 1024 - 2)
    for (const value of [large, exact, large]) journal.note({ k: 'done', p: '', value })
    await journal.close()
    const [first, second, third] = await recordsIn(folder)
    expect(first).toMatchObject({ value: { $blob: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 80_002 } })
    expect(second).toMatchObject({ value: exact })
    expect(third).toMatchObject({ value: first?.k === 'done' ? first.value : null })
    expect(readdirSync(join(folder, 'blobs'))).toHaveLength(1)
  })

  it('takes over from a writer whose header was lost in a power failure', async () => {
    const folder = newRunFolder()
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'j-000001.jsonl'), Buffer.alloc(300))
    const journal = await openRun({ folder, now })
    expect(journal.epoch).toBe(2)
    await journal.append({ k: 'done', p: 'here' })
    await journal.close()
    expect(await recordsIn(folder)).toMatchObject([{ p: 'here', e: 2 }])
  })

  it('returns an unused epoch when nothing was recorded in it', async () => {
    const folder = newRunFolder()
    const owners = createMortalOwners()
    const first = await openRun({ folder, now, owners })
    await first.append({ k: 'done', p: '' })
    owners.die()
    const files = createFaultyFiles()
    const second = await openRun({ folder, now, owners, files })
    await second.close()
    expect(files.log).toEqual(['close', 'makeFolder', 'create', 'write', 'syncData', 'link', 'remove', 'close'])
    await first.close()
  })

  it('works on a file system without hard links', async () => {
    const folder = newRunFolder()
    const files = createFaultyFiles({ operation: 4, when: 'before', code: 'EPERM' })
    const journal = await openRun({ folder, now, files })
    await journal.append({ k: 'done', p: 'here' })
    await journal.close()
    expect(files.log[3]).toBe('link')
    expect(await recordsIn(folder)).toMatchObject([{ p: 'here' }])
    expect(readdirSync(folder)).toEqual(['j-000001.jsonl'])
  })

  it('names the folder and the remedy when it cannot be used', async () => {
    const folder = newRunFolder()
    mkdirSync(dirname(folder), { recursive: true })
    writeFileSync(folder, 'a file in the way')
    await expect(openRun({ folder, now })).rejects.toMatchObject({
      code: 'JOURNAL_FAILED',
      message: expect.stringContaining(`the journal in ${folder} cannot be written: ENOTDIR`),
      hint: 'Make the folder writable, or set a different folder with dir in [runs].',
    })
  })
})

it('a visible run has begun: its file appears with its signed start', async () => {
  const folder = newRunFolder()
  const seen: boolean[] = []
  const watched: FilePort = {
    ...nodeFiles,
    link(from, to) {
      nodeFiles.link(from, to)
      const kinds = readFileSync(to, 'utf8').match(/(?<="k":")[\w.]+/g)
      seen.push(kinds?.join(' ') === 'seg run.start seal')
    },
  }
  const journal = await openRun({ folder, now, files: watched, key: Buffer.alloc(32, 1) })
  await journal.append({ k: 'run.start', run: 'r', file: 'a.md', hash: '', version: '1', facts: {} })
  await journal.close()
  expect(seen).toEqual([true])
})
