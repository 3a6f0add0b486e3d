import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FilePort, nodeFiles } from '../../src/journal/file-port.ts'
import { hasBegun } from '../../src/journal/has-begun.ts'
import { isOwnRun } from '../../src/journal/own-run.ts'
import { openRun } from '../../src/journal/store.ts'
import { newRunFolder } from './fixtures/run-folder.ts'

const [own, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const now = (): Date => new Date(0)

/** A run that records how it was started, with facts of this many characters, preceded by this many sources. */
async function recorded({ facts = 10, before = 0 } = {}): Promise<string> {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now, key: own })
  void journal.append({ k: 'run.start', run: 'r', file: 'a.md', hash: '', version: '1', facts: 'x'.repeat(facts) })
  const sources = Array.from({ length: before }, (_, number) =>
    journal.append({ k: 'source', name: 'none', path: `/${number}/${'p'.repeat(100)}`, hash: 'none', value: null }),
  )
  await Promise.all(sources)
  await journal.append({ k: 'done', p: 'task/0', value: 'done' })
  await journal.append({ k: 'done', p: 'task/1', value: 'done' })
  await journal.close()
  return folder
}

function fileOf(folder: string): string {
  return join(folder, 'j-000001.jsonl')
}

function change(folder: string, from: string, to: string): void {
  writeFileSync(fileOf(folder), readFileSync(fileOf(folder), 'utf8').replace(from, to))
}

describe('a run of this installation', () => {
  it.each([
    ['of usual length', {}],
    ['that began with a long record', { facts: 12_000 }],
    ['that is signed far below its start', { before: 300 }],
  ])('is distinguished from a foreign one: %s', async (_, form) => {
    const folder = await recorded(form)
    expect([await isOwnRun(folder, own), await isOwnRun(folder, other)]).toEqual([true, false])
  })

  it('cannot be copied into the folder of another run', async () => {
    const from = await recorded()
    const to = `${from}-2`
    cpSync(from, to, { recursive: true })
    expect([await isOwnRun(from, own), await isOwnRun(to, own)]).toEqual([true, false])
  })

  it('may have a damaged start, but not missing signatures', async () => {
    const [damaged, torn] = [await recorded(), await recorded()]
    change(damaged, '"a.md"', '"b.md"')
    expect(await isOwnRun(damaged, own)).toBe(true)
    const lines = readFileSync(fileOf(torn), 'utf8').split('\n')
    writeFileSync(fileOf(torn), lines.filter((line) => !line.includes('"k":"seal"')).join('\n'))
    expect(await isOwnRun(torn, own)).toBe(false)
  })

  it('may be killed in its first write, before its signature: it was never started', async () => {
    const folder = await recorded()
    expect(await hasBegun(folder)).toBe(true)
    truncateSync(fileOf(folder), readFileSync(fileOf(folder)).indexOf('"k":"seal"'))
    expect([await isOwnRun(folder, own), await isOwnRun(folder, other)]).toEqual([true, true])
    expect(await hasBegun(folder)).toBe(false)
  })

  it('may be killed before it recorded what it runs', async () => {
    const folder = await recorded()
    truncateSync(fileOf(folder), readFileSync(fileOf(folder)).indexOf('\n') + 1)
    expect([await isOwnRun(folder, own), await isOwnRun(folder, other)]).toEqual([true, true])
    rmSync(fileOf(folder))
    expect(await isOwnRun(folder, own)).toBe(true)
  })

  it('is recognized from one reading of its beginning', async () => {
    const folder = await recorded()
    const done: string[] = []
    const files: FilePort = {
      ...nodeFiles,
      openToRead: (path) => (done.push('open'), nodeFiles.openToRead(path)),
      readNow: (...args) => (done.push('read'), nodeFiles.readNow(...args)),
      read: (...args) => (done.push('read'), nodeFiles.read(...args)),
      list: (path) => (done.push('list'), nodeFiles.list(path)),
    }
    expect([await isOwnRun(folder, own, files), await isOwnRun(folder, other, files)]).toEqual([true, false])
    expect(done).toEqual(['open', 'read', 'open', 'read'])
  })
})
