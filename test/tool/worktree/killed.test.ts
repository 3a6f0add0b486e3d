import { describe, expect, it } from 'vitest'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { inWorktree } from '../../../src/tool/worktree/open.ts'
import type { RunContext } from '../../../src/event/context.ts'
import { Killed, type Lives, resumedProcess } from '../../helpers/resumed-process.ts'
import { core } from '../../helpers/series.ts'
import { type WorktreeWorld, writeIn, worktreeWorld } from '../../helpers/worktree-world.ts'

function world(): WorktreeWorld {
  return worktreeWorld({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'old.txt': 'old\n' })
}

async function work(context: RunContext): Promise<void> {
  await inWorktree(context, { name: 'a' }, async (inside) => {
    writeIn(inside, { 'a.txt': 'two\n', 'new/c.txt': 'three\n', 'b.txt': 'four\n' })
  })
}

/** One process of a run that dies after some records. */
async function lived(of: WorktreeWorld, records: JournalRecord[], lives: Lives): Promise<'killed' | 'done'> {
  const { context, uncertain } = await resumedProcess(of.top, records, { ...lives, given: of.given() })
  expect(uncertain).toEqual([])
  try {
    await work(context)
    return 'done'
  } catch (error) {
    if (error instanceof Killed) return 'killed'
    throw error
  }
}

async function recordsOfAll(): Promise<number> {
  const records: JournalRecord[] = []
  await lived(world(), records, {})
  return records.length
}

describe('a run with a work tree that is killed', () => {
  it('has applied all changes once after a resume, and left no work tree', async () => {
    const count = await recordsOfAll()
    for (let lives = core(1, 0); lives < count; lives += core(5, 1)) {
      for (const diesBefore of (['the change', 'its end'] as const).slice(0, core(1, 2))) {
        const of = world()
        const records: JournalRecord[] = []
        expect(await lived(of, records, { lives, diesBefore })).toBe('killed')
        expect(await lived(of, records, {}), `after ${lives} records`).toBe('done')
        expect([of.read('a.txt'), of.read('b.txt'), of.read('new/c.txt')]).toEqual(['two\n', 'four\n', 'three\n'])
        expect(of.known()).toEqual([])
      }
    }
  })

  it('explains the remedy if the work tree is gone', async () => {
    const of = world()
    const records: JournalRecord[] = []
    await lived(of, records, { lives: 6 })
    const [tree] = of.known()
    of.git('worktree', 'remove', '--force', (tree ?? '').slice('worktree '.length))
    await expect(lived(of, records, {})).rejects.toMatchObject({
      code: 'FILE_FAILED',
      message: 'the work tree of this run is gone, and with it the changes made there',
    })
    expect(of.read('a.txt')).toBe('one\n')
  })
})
