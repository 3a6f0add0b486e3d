import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import type { Entry } from '../../src/journal/record.ts'
import { openRun } from '../../src/journal/store.ts'
import { newRunFolder, recordsIn } from './fixtures/run-folder.ts'

const now = (): Date => new Date(0)

const read = (size: number, letter = 'x'): Entry => ({
  k: 'obs',
  p: 'a',
  name: 'read',
  args: [],
  status: 'ok',
  value: letter.repeat(size),
})

/** Of the files of a run. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

/** The number of records that were accepted before one was refused. */
function fill(journal: RunJournal, entry: (round: number) => Entry, most = 1000): number {
  for (let round = 0; round < most; round += 1) {
    try {
      journal.note(entry(round))
    } catch (error) {
      expect(isBatonError(error) && error.code).toBe('RUN_TOO_LARGE')
      return round
    }
  }
  return most
}

describe('the size limit of a run', () => {
  it('refuses new effects once it is reached, and keeps everything that was recorded and every end', async () => {
    const folder = newRunFolder()
    const journal = await openRun({ folder, now })
    const reached = journal.limitSize?.(20_000)
    journal.note({ k: 'started', p: 'm', kind: 'model', repeat: 'safe', fp: '', request: null })
    expect(reached?.()).toBeUndefined()
    const taken = fill(journal, () => read(1000))
    expect(taken).toBeGreaterThan(10)
    expect(reached?.()).toMatchObject({ code: 'RUN_TOO_LARGE', hint: expect.stringContaining('runs.max_size=') })
    // a smaller one is refused too, otherwise it would be recorded after one that is missing
    expect(fill(journal, () => read(1))).toBe(0)
    expect(journal.failure.aborted).toBe(false)
    await journal.append({ k: 'ended', p: 'm', s: 1, kind: 'model', status: 'ok', value: 'y'.repeat(30_000) })
    await journal.close()
    const records = await recordsIn(folder)
    expect(records.map(({ k }) => k)).toEqual(['started', ...Array<string>(taken).fill('obs'), 'ended'])
    expect(records.map(({ n }) => n)).toEqual(records.map((_, index) => index + 1))
  })

  it('counts each large value once', async () => {
    const folder = newRunFolder()
    const journal = await openRun({ folder, now })
    journal.limitSize?.(1_000_000)
    expect(fill(journal, () => read(200_000), 20)).toBe(20)
    expect(fill(journal, (round) => read(200_000, String(round)))).toBe(3)
    await journal.close()
    expect(sizeOf(folder)).toBeLessThan(1_000_000)
    expect(await recordsIn(folder)).toHaveLength(23)
  })

  it('counts stored contents of files, of any size, and stores none that was refused', async () => {
    const folder = newRunFolder()
    const large = join(dirname(folder), 'large')
    mkdirSync(dirname(folder), { recursive: true })
    writeFileSync(large, Buffer.alloc(9 * 1024 * 1024))
    const journal = await openRun({ folder, now })
    const reached = journal.limitSize?.(9_000_000)
    journal.keep?.({ bytes: 'a'.repeat(100_000) })
    expect(() => journal.keep?.({ file: large })).toThrow('would exceed 8.6mb')
    expect(() => journal.keep?.({ bytes: 'b' })).toThrow('would exceed 8.6mb')
    expect(journal.failure.aborted).toBe(false)
    expect(reached?.()).toBeDefined()
    await journal.close()
    expect(readdirSync(join(folder, 'blobs'))).toHaveLength(1)
  })

  it('counts what earlier processes have recorded', async () => {
    const folder = newRunFolder()
    const first = await openRun({ folder, now })
    fill(first, (round) => read(100_000, String(round)), 5)
    first.note({ k: 'run.end', exit: 1, stop: 'error' })
    await first.close()
    const second = await openRun({ folder, now })
    second.limitSize?.(400_000)
    expect(fill(second, () => read(1))).toBe(0)
    second.note({ k: 'run.end', exit: 4, stop: 'limit' })
    await second.close()
    const third = await openRun({ folder, now })
    third.limitSize?.(800_000)
    // existing files are replaced
    expect(fill(third, (round) => read(100_000, String(round)), 5)).toBe(5)
    expect(fill(third, (round) => read(100_000, 'abcdefgh'[round]))).toBe(2)
    await third.close()
  })
})
