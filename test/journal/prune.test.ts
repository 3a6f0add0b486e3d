import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { removalFailure } from '../../src/journal/failure.ts'
import { lastWork, pruneRuns, removeRun, startedAt } from '../../src/journal/prune.ts'
import { openRun } from '../../src/journal/store.ts'
import { tempTree } from '../helpers/temp.ts'
import { makeRun } from '../history/fixtures.ts'

const dayMs = 86_400_000
const now = new Date()

/** The id of a run that started this many days ago. */
function idAt(days: number, end: string): string {
  const [day, time] = new Date(now.getTime() - days * dayMs).toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  return `${day}-${time}-${end}`
}

/** A run whose last activity was this many days before `now`. */
function oldRun(runs: string, id: string, days: number): void {
  const file = join(runs, id, 'j-000001.jsonl')
  mkdirSync(join(runs, id), { recursive: true })
  writeFileSync(file, '')
  const at = new Date(now.getTime() - days * dayMs)
  utimesSync(file, at, at)
}

function idsIn(runs: string): readonly string[] {
  return readdirSync(runs)
    .filter((name) => !name.startsWith('.') && name !== 'order.txt')
    .toSorted()
}

describe('a run that cannot be removed', () => {
  it.each([
    ['EACCES', 'Make /state/runs and its contents writable.'],
    ['EBUSY', 'Check /state/runs.'],
  ])('is reported with the remedy: %s', (code, hint) => {
    const error = Object.assign(new Error(`${code}: it does not work`), { code })
    expect(removalFailure('/state/runs/20261122-054821-6780e1', error)).toMatchObject({
      code: 'FILE_FAILED',
      message: `20261122-054821-6780e1 cannot be removed: ${code}: it does not work`,
      hint,
      cause: error,
    })
  })
})

describe('pruning', () => {
  it('removes runs without activity for longer than the configured time', async () => {
    const runs = tempTree()
    oldRun(runs, idAt(52, 'aaaaaa'), 52)
    oldRun(runs, idAt(51, 'bbbbbb'), 3) // continued three days ago
    oldRun(runs, idAt(2, 'cccccc'), 2)
    await pruneRuns(runs, { keepMs: 30 * dayMs, now })
    expect(idsIn(runs)).toEqual([idAt(51, 'bbbbbb'), idAt(2, 'cccccc')])
  })

  it('happens once a day', async () => {
    const runs = tempTree()
    oldRun(runs, idAt(52, 'aaaaaa'), 52)
    await pruneRuns(runs, { keepMs: 30 * dayMs, now })
    oldRun(runs, idAt(52, 'bbbbbb'), 52)
    await pruneRuns(runs, { keepMs: 30 * dayMs, now })
    expect(idsIn(runs)).toEqual([idAt(52, 'bbbbbb')])
    await pruneRuns(runs, { keepMs: 30 * dayMs, now: new Date(now.getTime() + 2 * dayMs) })
    expect(idsIn(runs)).toEqual([])
  })

  it('treats less than a day as a day, so that no file can delete the other runs', async () => {
    const runs = tempTree()
    oldRun(runs, idAt(0.5, 'aaaaaa'), 0.5)
    await pruneRuns(runs, { keepMs: 1, now })
    expect(idsIn(runs)).toHaveLength(1)
  })

  it('keeps running runs and other folders, and removes what an earlier pruning left', async () => {
    const runs = tempTree({ 'notes/a': 'x', '.removed-000/blobs/b': 'x' })
    const id = idAt(52, 'aaaaaa')
    const run = await makeRun({ runs, id, isAlive: true })
    await run.journal.flush()
    const at = new Date(now.getTime() - 52 * dayMs)
    utimesSync(join(runs, id, 'j-000001.jsonl'), at, at)
    await pruneRuns(runs, { keepMs: 30 * dayMs, now })
    expect(idsIn(runs)).toEqual([id, 'notes'])
    expect(existsSync(join(runs, '.removed-000'))).toBe(false)
    await run.journal.close()
  })

  it('does nothing for a folder that does not exist', async () => {
    const runs = join(tempTree(), 'none')
    await pruneRuns(runs, { keepMs: dayMs, now })
    expect(existsSync(runs)).toBe(false)
  })
})

describe('removing a run', () => {
  it('removes everything of it, but is refused while it is running', async () => {
    const runs = tempTree()
    const ended = await makeRun({ runs, id: idAt(52, 'aaaaaa') })
    await ended.end()
    const going = await openRun({ folder: join(runs, idAt(52, 'bbbbbb')), now: () => now })
    going.note({ k: 'begin', p: 'task/0', key: {} })
    await going.flush()

    expect(await removeRun(ended.folder)).toBe(true)
    expect(await removeRun(join(runs, idAt(52, 'bbbbbb')))).toBe(false)
    expect(idsIn(runs)).toEqual([idAt(52, 'bbbbbb')])
    await going.close()
  })

  it('succeeds when the run no longer exists', async () => {
    expect(await removeRun(join(tempTree(), idAt(52, 'aaaaaa')))).toBe(true)
  })
})

it('reads the start time of a run from its id', () => {
  expect(new Date(startedAt('20261122-054821-6780e1')).toISOString()).toBe('2026-11-22T05:48:21.000Z')
})

it('treats a run without files as never active', () => {
  expect(lastWork(tempTree())).toBe(0)
})
