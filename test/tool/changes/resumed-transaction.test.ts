import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import type { Directive } from '../../../src/tool/changes/directive.ts'
import { applyTransaction, type TransactionResult } from '../../../src/tool/changes/transaction.ts'
import { placeAt } from '../../helpers/effects.ts'
import { Killed, resumedProcess } from '../../helpers/resumed-process.ts'
import { makeTree, readTree } from './tree.ts'
import { core } from '../../helpers/series.ts'

const tree = { 'a.txt': 'one\n', log: '1\n', 'gone.txt': 'gone\n' }
const directives: readonly Directive[] = [
  { kind: 'Patch', filePath: 'a.txt', content: '@@\n-one\n+two\n' },
  { kind: 'Append', filePath: 'log', content: '2\n' },
  { kind: 'Delete', filePath: 'gone.txt' },
  { kind: 'New', filePath: 'made/b.txt', content: 'b\n' },
]
const done = { 'a.txt': 'two\n', log: '1\n2\n', 'made/b.txt': 'b\n' }

/** A folder at the path of a file to be written: the last of the changes fails. */
const block = (root: string): string => join(root, 'made/b.txt')

async function apply(root: string, records: JournalRecord[], lives = Infinity): Promise<TransactionResult | 'killed'> {
  const { context, uncertain } = await resumedProcess(root, records, { lives })
  expect(uncertain).toEqual([])
  try {
    return await applyTransaction(
      directives,
      { baseDir: root, partial: false, shown: undefined },
      { context, at: placeAt('task/0/changes') },
    )
  } catch (error) {
    if (error instanceof Killed) return 'killed'
    throw error
  }
}

/** The last change fails in this process: once the changes are planned, its file is replaced by a folder. */
async function applyBlocked(
  root: string,
  records: JournalRecord[],
  lives = Infinity,
  onChange?: () => void,
): Promise<TransactionResult | 'killed'> {
  const { context } = await resumedProcess(root, records, { lives, ...(onChange && { onChange }) })
  const { effects } = context.services
  const services = {
    ...context.services,
    effects: {
      ...effects,
      changeFile(...[at, asked, plan, permit]: Parameters<typeof effects.changeFile>) {
        const blocked: typeof plan = (allow) => {
          // only when it is really made: a recorded change is not planned
          if (asked.op === 'write' && asked.path === 'made/b.txt') mkdirSync(block(root), { recursive: true })
          return plan(allow)
        }
        return effects.changeFile(at, asked, blocked, permit)
      },
    },
  }
  try {
    return await applyTransaction(
      directives,
      { baseDir: root, partial: false, shown: undefined },
      { context: { ...context, services }, at: placeAt('task/0/changes') },
    )
  } catch (error) {
    if (error instanceof Killed) return 'killed'
    throw error
  }
}

function unblock(root: string): void {
  try {
    rmdirSync(block(root))
    rmdirSync(join(root, 'made'))
  } catch {
    // it was not created, or is already restored
  }
}

it('changes that were rolled back are all applied again by a resume', async () => {
  const root = makeTree(tree)
  const records: JournalRecord[] = []
  expect(await applyBlocked(root, records)).toMatchObject({ kind: 'rolled_back', notRestored: [] })
  unblock(root)
  expect(readTree(root)).toEqual(tree)

  expect(await apply(root, records)).toMatchObject({ kind: 'applied' })
  expect(readTree(root)).toEqual(done)
  // a third process takes everything from the record
  expect(await apply(root, records)).toMatchObject({ kind: 'applied' })
  expect(readTree(root)).toEqual(done)
})

it('and are rolled back again if they fail again', async () => {
  const root = makeTree(tree)
  const records: JournalRecord[] = []
  for (let count = 0; count < 3; count += 1) {
    expect(await applyBlocked(root, records)).toMatchObject({ kind: 'rolled_back', notRestored: [] })
    unblock(root)
    expect(readTree(root)).toEqual(tree)
    expect(records.filter(({ k }) => k === 'again')).toHaveLength(count)
  }
  expect(await apply(root, records)).toMatchObject({ kind: 'applied' })
  expect(readTree(root)).toEqual(done)
})

it('wherever the process that rolls back is killed, and the one after it', async () => {
  let kills = 0
  for (let first = 1; ; first += core(6, 2)) {
    const whole = await tryKilled(first, Infinity)
    if (whole === 'not killed') break
    kills += 1
    for (let second = 1; (await tryKilled(first, second)) !== 'not killed'; second += core(9, 4) + (first % 5))
      kills += 1
  }
  expect(kills).toBeGreaterThan(core(6, 40))
})

/** Kills a process that fails, after some records, and the next one; then a last one completes. */
async function tryKilled(first: number, second: number): Promise<'killed' | 'not killed'> {
  const root = makeTree(tree)
  const records: JournalRecord[] = []
  if ((await applyBlocked(root, records, first)) !== 'killed') return 'not killed'
  unblock(root)
  const outcome = second === Infinity ? 'killed' : await apply(root, records, second).catch(() => 'killed' as const)
  const last = outcome === 'killed' ? await apply(root, records) : outcome
  expect([first, second, last]).toEqual([first, second, expect.objectContaining({ kind: 'applied' })])
  expect([first, second, readTree(root)]).toEqual([first, second, done])
  return second !== Infinity && outcome !== 'killed' ? 'not killed' : 'killed'
}

describe('a file that somebody changes between the kill and the resume', () => {
  /** Kills a process that rolls back after a number of records, and lets the user change a file before the next one. */
  async function tryChanged(lives: number, path: string, text: string) {
    const root = makeTree(tree)
    const records: JournalRecord[] = []
    if ((await applyBlocked(root, records, lives)) !== 'killed') return undefined
    unblock(root)
    const isRollingBack = records.some(({ k }) => k === 'undo')
    const before = readTree(root)
    writeFileSync(join(root, path), text)
    const { context, uncertain } = await resumedProcess(root, records)
    if (uncertain.length > 0) return { isRollingBack, isAsked: true }
    const warnings: string[] = []
    const services = {
      ...context.services,
      events: (_: unknown, event: { type: string; message?: string }) =>
        event.type === 'warning' && warnings.push(event.message ?? ''),
    }
    const result = await applyTransaction(
      directives,
      { baseDir: root, partial: false, shown: undefined },
      { context: { ...context, services } as typeof context, at: placeAt('task/0/changes') },
    )
    return { isRollingBack, isAsked: false, result, before, after: readTree(root), warnings }
  }

  it('is unchanged, and named: nobody restores earlier content over it', async () => {
    let found = 0
    for (let lives = 1; ; lives += 1) {
      const tried = await tryChanged(lives, 'a.txt', 'by a person\n')
      if (tried === undefined) break
      if (!tried.isRollingBack || tried.isAsked) continue
      found += 1
      expect([lives, tried.after?.['a.txt']]).toEqual([lives, 'by a person\n'])
      // a patch that no longer fits, or a set that was not made again: never a success without its edits
      expect([lives, tried.result?.kind]).toEqual([lives, expect.stringMatching(/^(?:refused|rolled_back)$/)])
    }
    expect(found).toBeGreaterThan(5)
  })

  it('is not appended to twice: appended text stays in place', async () => {
    let left = 0
    for (let lives = 1; ; lives += 1) {
      const tried = await tryChanged(lives, 'log', '1\n2\n3\n')
      if (tried === undefined) break
      if (!tried.isRollingBack || tried.isAsked || tried.before?.['log'] !== '1\n2\n') continue
      left += 1
      expect([lives, tried.after?.['log']]).toEqual([lives, '1\n2\n3\n'])
      expect([lives, tried.result]).toEqual([
        lives,
        expect.objectContaining({
          kind: 'rolled_back',
          notRestored: [expect.stringContaining('log has changed since')],
        }),
      ])
    }
    expect(left).toBeGreaterThan(0)
  })

  it('is changed again on top of its new content if that is possible, with a warning', async () => {
    const text = 'one\nand more by a person\n'
    let warned = 0
    for (let lives = 1; ; lives += 1) {
      const tried = await tryChanged(lives, 'a.txt', text)
      if (tried === undefined) break
      if (!tried.isRollingBack || tried.isAsked) continue
      expect([lives, tried.after?.['a.txt']]).toEqual([lives, 'two\nand more by a person\n'])
      if (tried.warnings?.some((message) => message.includes('a.txt has changed since')) === true) warned += 1
    }
    expect(warned).toBeGreaterThan(0)
  })
})

it('what could not be restored is restored by the resume, before the changes are applied again', async () => {
  const root = makeTree(tree)
  const records: JournalRecord[] = []
  // while the disk is full nothing can be written anymore, not even the previous content
  const full = (): void => {
    if (records.some(({ k }) => k === 'undo')) throw new BatonError('FILE_FAILED', 'ENOSPC: no space left')
  }
  expect(await applyBlocked(root, records, Infinity, full)).toMatchObject({
    kind: 'rolled_back',
    notRestored: expect.arrayContaining([expect.stringContaining('no space left')]),
  })
  unblock(root)
  expect(readTree(root)).toMatchObject({ 'a.txt': 'two\n', log: '1\n2\n' })
  expect(await apply(root, records)).toMatchObject({ kind: 'applied' })
  expect(readTree(root)).toEqual(done)
})
