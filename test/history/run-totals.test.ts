import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listRuns } from '../../src/history/run-list.ts'
import { createRunTotals, type RunTotals } from '../../src/history/run-totals.ts'
import { runIds } from '../../src/journal/find-run.ts'
import { nodeFiles, type FilePort } from '../../src/journal/file-port.ts'
import { encodeLine } from '../../src/journal/record.ts'
import { segmentFile } from '../../src/journal/segment.ts'
import type { RunSummary } from '../../src/journal/summary.ts'
import { tempTree } from '../helpers/temp.ts'
import { type MadeRun, makeRun, makeTask } from './fixtures.ts'

/** Counts the bytes that are read for totals. */
function countedTotals() {
  let bytes = 0
  const files: FilePort = {
    ...nodeFiles,
    async read(descriptor, target, position) {
      const count = await nodeFiles.read(descriptor, target, position)
      bytes += count
      return count
    },
  }
  const since = (): number => {
    const read = bytes
    bytes = 0
    return read
  }
  return { totals: createRunTotals(files), since }
}

async function list(runs: string, totals?: RunTotals): Promise<readonly RunSummary[]> {
  const found: RunSummary[] = []
  const options = { limit: 1_000, fits: () => true, ...(totals === undefined ? {} : { totals }) }
  for await (const run of listRuns(runs, options)) found.push(run)
  return found
}

/** Lists with what was kept, and compares the result with a list that reads everything. */
async function listSame(runs: string, totals: RunTotals): Promise<readonly RunSummary[]> {
  const found = await list(runs, totals)
  expect(found).toEqual(await list(runs))
  return found
}

async function makeTasks(run: MadeRun, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) await makeTask(run, index, 'x')
  await run.journal.flush()
}

const killed = async (run: MadeRun): Promise<void> => run.journal.close()

describe('a process that lists runs without a summary repeatedly', () => {
  it('reads only what was added to a running run', async () => {
    const runs = tempTree()
    const run = await makeRun({ runs, isAlive: true })
    const file = segmentFile(run.folder, 1)
    await makeTasks(run, 0, 30)
    const { totals, since } = countedTotals()
    expect(await listSame(runs, totals)).toMatchObject([{ status: 'running', tasks: { done: 30 }, calls: 30 }])
    const whole = statSync(file).size
    expect(since()).toBeGreaterThanOrEqual(whole)
    await listSame(runs, totals)
    expect(since()).toBe(0)
    await makeTasks(run, 30, 31)
    expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 31 }, calls: 31 }])
    expect(since()).toBe(statSync(file).size - whole)
    await run.journal.close()
  })

  it('does not read killed runs again, not even as many as on the largest page', async () => {
    const runs = tempTree()
    const run = await makeRun({ runs, id: '20261122-100000-000000' })
    await makeTasks(run, 0, 1)
    await killed(run)
    const text = readFileSync(segmentFile(run.folder, 1))
    for (let number = 1; number <= 500; number += 1) {
      const id = `20261122-100000-${String(number).padStart(6, '0')}`
      mkdirSync(join(runs, id))
      writeFileSync(segmentFile(join(runs, id), 1), text)
    }
    const { totals, since } = countedTotals()
    const readPage = async (): Promise<void> => {
      for (const id of runIds(runs)) await totals.read(join(runs, id), { end: undefined, isRunning: false })
    }
    await readPage()
    expect(since()).toBe(501 * text.length)
    await readPage()
    expect(since()).toBe(0)
  })

  it('counts the same for two concurrent lists', async () => {
    const runs = tempTree()
    const run = await makeRun({ runs, isAlive: true })
    await makeTasks(run, 0, 5)
    const { totals, since } = countedTotals()
    const [one, other] = await Promise.all([list(runs, totals), list(runs, totals)])
    expect(one).toMatchObject([{ tasks: { done: 5 }, calls: 5 }])
    expect(other).toEqual(one)
    expect(since()).toBe(statSync(segmentFile(run.folder, 1)).size)
    await run.journal.close()
  })

  it('counts the same as a complete reading when a run is killed, resumed, and ends', async () => {
    const runs = tempTree()
    const { totals } = countedTotals()
    const first = await makeRun({ runs, isAlive: true })
    await makeTasks(first, 0, 2)
    expect(await listSame(runs, totals)).toMatchObject([{ status: 'running', tasks: { done: 2 } }])
    await killed(first)
    const second = await makeRun({ runs })
    await makeTasks(second, 2, 3)
    expect(await listSame(runs, totals)).toMatchObject([{ status: 'interrupted', epochs: 2, tasks: { done: 3 } }])
    await killed(second)
    const third = await makeRun({ runs, isAlive: true })
    await makeTasks(third, 3, 4)
    expect(await listSame(runs, totals)).toMatchObject([{ status: 'running', epochs: 3, tasks: { done: 4 } }])
    await makeTasks(third, 4, 6)
    expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 6 }, calls: 6 }])
    third.journal.note({ k: 'begin', p: 'task/6', key: {} })
    await third.end('error', 1)
    expect(await listSame(runs, totals)).toMatchObject([{ status: 'failed', tasks: { done: 6, failed: 1 } }])
  })

  it('counts only the tasks of the newest round, like a complete reading', async () => {
    const runs = tempTree()
    const run = await makeRun({ runs, isAlive: true })
    await makeTasks(run, 0, 3)
    const { totals } = countedTotals()
    await listSame(runs, totals)
    run.journal.note({ k: 'begin', p: 'redo/1/task/0', key: {} })
    await run.journal.flush()
    expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 0 }, calls: 3 }])
    await run.journal.close()
  })

  it.each([false, true])(
    'reads a truncated or replaced file from its start (its process is alive: %s)',
    async (isAlive) => {
      const runs = tempTree()
      const { totals } = countedTotals()
      const run = await makeRun({ runs, ...(isAlive ? { isAlive } : {}) })
      await makeTasks(run, 0, 4)
      const file = segmentFile(run.folder, 1)
      const whole = readFileSync(file)
      expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 4 }, calls: 4 }])

      truncateSync(file, Math.floor(whole.length / 2))
      const [cut] = await listSame(runs, totals)
      expect(cut?.calls).toBeLessThan(4)

      // the file that replaces it is longer, and begins with the same bytes
      const other = join(tempTree(), 'other')
      const record = encodeLine(JSON.stringify({ e: 1, n: 9_999, t: 0, k: 'begin', p: 'redo/1/task/0', key: {} }))
      writeFileSync(other, Buffer.concat([whole, Buffer.from(record)]))
      rmSync(file)
      copyFileSync(other, file)
      expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 0 }, calls: 4 }])
      await run.journal.close()
    },
  )

  it.each([false, true])(
    'detects that the file of an earlier process has changed (the newest is alive: %s)',
    async (isAlive) => {
      const runs = tempTree()
      const { totals } = countedTotals()
      const first = await makeRun({ runs })
      await makeTasks(first, 0, 2)
      await killed(first)
      const second = await makeRun({ runs, ...(isAlive ? { isAlive } : {}) })
      await makeTasks(second, 2, 3)
      expect(await listSame(runs, totals)).toMatchObject([{ epochs: 2, calls: 3 }])
      truncateSync(segmentFile(first.folder, 1), Math.floor(statSync(segmentFile(first.folder, 1)).size / 2))
      const [cut] = await listSame(runs, totals)
      expect(cut?.calls).toBeLessThan(3)
      await second.journal.close()
    },
  )

  it('waits for a record with an incomplete line', async () => {
    const runs = tempTree()
    const { totals } = countedTotals()
    const run = await makeRun({ runs, isAlive: true })
    await makeTasks(run, 0, 1)
    await listSame(runs, totals)
    const line = encodeLine(JSON.stringify({ e: 1, n: 9_999, t: 0, k: 'begin', p: 'redo/1/task/0', key: {} }))
    appendFileSync(segmentFile(run.folder, 1), line.slice(0, 30))
    expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 1 } }])
    appendFileSync(segmentFile(run.folder, 1), line.slice(30))
    expect(await listSame(runs, totals)).toMatchObject([{ tasks: { done: 0 } }])
    await run.journal.close()
  })
})
