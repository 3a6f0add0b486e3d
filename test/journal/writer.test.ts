import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { nodeFiles, type FilePort } from '../../src/journal/file-port.ts'
import { openRun } from '../../src/journal/store.ts'
import { createFaultyFiles } from './fixtures/faulty-files.ts'
import { newRunFolder, recordsIn } from './fixtures/run-folder.ts'

const now = (): Date => new Date(0)

it('syncs nothing in a run that has only notes, however large its values are', async () => {
  const folder = newRunFolder()
  const files = createFaultyFiles()
  const journal = await openRun({ folder, now, files })
  for (let index = 0; index < 100; index += 1)
    journal.note({ k: 'done', p: `${index}`, value: 'x'.repeat(index * 1000) })
  journal.push()
  journal.note({ k: 'run.end', exit: 0, stop: 'done' })
  await journal.close()
  expect(files.log.filter((name) => name.startsWith('sync'))).toEqual([])
  expect(await recordsIn(folder)).toHaveLength(101)
})

it('makes a small run of notes with six file operations', async () => {
  const files = createFaultyFiles()
  const journal = await openRun({ folder: newRunFolder(), now, files })
  for (let index = 0; index < 50; index += 1) journal.note({ k: 'done', p: `${index}` })
  await journal.close()
  expect(files.log).toEqual(['makeFolder', 'create', 'write', 'link', 'remove', 'close'])
})

/** What would remain of the journal if the power failed now. */
function createPowerCut(folder: string): { readonly files: FilePort; readonly durableText: () => string } {
  const file = join(folder, 'j-000001.jsonl')
  let durableBytes = 0
  let durableName = false
  const synced = async (work: Promise<void>, size: number): Promise<void> => {
    await work
    durableBytes = size
  }
  const sizeNow = (): number => statSync(file).size
  const files: FilePort = {
    ...nodeFiles,
    syncData: (descriptor) => synced(nodeFiles.syncData(descriptor), sizeNow()),
    syncDataNow(descriptor) {
      nodeFiles.syncDataNow(descriptor)
      durableBytes = sizeNow()
    },
    async syncFolder(path) {
      const hasName = path === folder && existsSync(file)
      await nodeFiles.syncFolder(path)
      durableName ||= hasName
    },
  }
  return { files, durableText: () => (durableName ? readFileSync(file).toString('utf8', 0, durableBytes) : '') }
}

it('acknowledges a record only when its line and the name of its file are durable', async () => {
  const folder = newRunFolder()
  const { files, durableText } = createPowerCut(folder)
  const journal = await openRun({ folder, now, files })
  let checked = 0
  const append = async (place: string): Promise<void> => {
    await journal.append({ k: 'done', p: place })
    expect(durableText()).toContain(`"p":"${place}"`)
    checked += 1
  }
  for (let index = 0; index < 60; index += 1) await append(`single/${index}`)
  await Promise.all(Array.from({ length: 40 }, (_, index) => append(`group/${index}`)))
  const callers = Array.from({ length: 4 }, async (_, caller) => {
    for (let index = 0; index < 15; index += 1) await append(`caller/${caller}/${index}`)
  })
  await Promise.all(callers)
  await journal.close()
  expect(checked).toBe(160)
})

it('soon makes durable, with one sync, what nobody waits for', async () => {
  const folder = newRunFolder()
  const { files, durableText } = createPowerCut(folder)
  let syncs = 0
  const counted: FilePort = { ...files, syncData: (descriptor) => ((syncs += 1), files.syncData(descriptor)) }
  const journal = await openRun({ folder, now, files: counted })
  for (let index = 0; index < 20; index += 1) {
    journal.note({ k: 'done', p: `soon/${index}` })
    journal.syncSoon()
  }
  expect(readFileSync(join(folder, 'j-000001.jsonl'), 'utf8')).toContain('"p":"soon/19"')
  expect(durableText()).toBe('')
  await vi.waitFor(() => expect(durableText()).toContain('"p":"soon/19"'), { timeout: 10_000 })
  expect(syncs).toBe(1)
  journal.syncSoon()
  await journal.close()
})

it('fails when what nobody waits for cannot be synced', async () => {
  const syncData = async (): Promise<void> => {
    throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  }
  const journal = await openRun({ folder: newRunFolder(), now, files: { ...nodeFiles, syncData } })
  journal.note({ k: 'done', p: 'a' })
  journal.syncSoon()
  await vi.waitFor(() => expect(journal.failure.aborted).toBe(true), { timeout: 10_000 })
  await expect(journal.append({ k: 'done', p: 'b' })).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  await expect(journal.close()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
})

it('makes every parent folder, and every blob, durable before the first acknowledgement', async () => {
  const folder = newRunFolder()
  const synced: string[] = []
  const files: FilePort = {
    ...nodeFiles,
    async syncFile(path) {
      await nodeFiles.syncFile(path)
      synced.push(path)
    },
    async syncFolder(path) {
      await nodeFiles.syncFolder(path)
      synced.push(path)
    },
  }
  const journal = await openRun({ folder, now, files })
  await journal.append({ k: 'done', p: '', value: 'x'.repeat(70_000) })
  const runs = dirname(folder)
  expect(synced).toEqual(expect.arrayContaining([dirname(runs), runs, folder, join(folder, 'blobs')]))
  expect(synced.filter((path) => dirname(path) === join(folder, 'blobs'))).toHaveLength(1)
  await journal.close()
})

it('makes notes after the last durable record durable when it is closed', async () => {
  const folder = newRunFolder()
  const { files, durableText } = createPowerCut(folder)
  const journal = await openRun({ folder, now, files })
  await journal.append({ k: 'done', p: 'paid' })
  journal.note({ k: 'run.end', exit: 0, stop: 'done' })
  await journal.close()
  expect(durableText()).toContain('run.end')
})

it('serves many callers with few syncs', async () => {
  const files = createFaultyFiles()
  const journal = await openRun({ folder: newRunFolder(), now, files })
  const callers = Array.from({ length: 64 }, async () => {
    for (let index = 0; index < 10; index += 1) await journal.append({ k: 'done', p: '' })
  })
  await Promise.all(callers)
  await journal.close()
  expect(files.log.filter((name) => name === 'syncData').length).toBeLessThan(64)
})

it('lets timers run while one caller appends without a pause', async () => {
  const journal = await openRun({ folder: newRunFolder(), now })
  let stop = false
  setTimeout(() => {
    stop = true
  }, 20)
  let count = 0
  while (!stop && count < 100_000) {
    await journal.append({ k: 'done', p: '' })
    count += 1
  }
  await journal.close()
  expect(count).toBeLessThan(100_000)
})

it('buffers at most 256 KB of notes, even if nothing else gets a turn', async () => {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now })
  const value = 'x'.repeat(1000)
  for (let index = 0; index < 1000; index += 1) journal.note({ k: 'done', p: `${index}`, value })
  expect(statSync(join(folder, 'j-000001.jsonl')).size).toBeGreaterThan(1000 * 1000 - 256 * 1024)
  await journal.close()
})

it('writes notes after a moment, without a request', async () => {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now })
  journal.note({ k: 'done', p: 'noted' })
  while (!existsSync(join(folder, 'j-000001.jsonl'))) await delay(5)
  expect(await recordsIn(folder)).toMatchObject([{ p: 'noted' }])
  await journal.close()
})
