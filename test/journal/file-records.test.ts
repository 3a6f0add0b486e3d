import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFileRecords, type RecordSource } from '../../src/journal/source.ts'
import { damageText } from '../../src/journal/damage.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import type { Entry } from '../../src/journal/record.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { createMortalOwners, newRunFolder } from './fixtures/run-folder.ts'
import { begin, done, obs } from './fixtures/records.ts'

async function write(folder: string, epochs: readonly (readonly Entry[])[]): Promise<string> {
  const owners = createMortalOwners()
  for (const entries of epochs) {
    const journal = await openRun({ folder, now: () => new Date(0), owners })
    for (const entry of entries) journal.note(entry)
    await journal.close()
    owners.die()
  }
  return join(folder, 'j-000001.jsonl')
}

async function placesIn(source: RecordSource): Promise<readonly string[]> {
  const places: string[] = []
  await source.scan((record) => places.push('p' in record ? record.p : ''))
  source.close()
  return places.filter((place) => place !== '')
}

const keeps = 'unfinished'

describe('a damaged run folder', () => {
  it('is read up to a torn end, truncated at any byte, without a warning', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[begin('a'), obs('a#0'), done('a')]])
    const bytes = readFileSync(file)
    for (let length = bytes.length - 1; length > bytes.indexOf(10); length -= 1) {
      truncateSync(file, length)
      const source = openFileRecords(folder, { mask: noMask })
      const { tree, damages } = await indexRun(source, { keeps: 'everything' })
      source.close()
      expect(damages).toEqual([])
      const lines =
        bytes
          .subarray(0, length + 1)
          .toString('latin1')
          .split('\n').length - 1
      const known = [tree.find('a')?.begin, tree.find('a#0')?.answer, tree.find('a')?.done]
      expect(known.filter((location) => location !== undefined)).toHaveLength(lines - 1)
    }
  })

  it('is refused if another process has seen more of a truncated file, at any byte', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[begin('a'), obs('a#0'), done('a')], [obs('b')]])
    const bytes = readFileSync(file)
    for (let length = bytes.length - 2; length >= 0; length -= 1) {
      truncateSync(file, length)
      const source = openFileRecords(folder, { mask: noMask })
      await expect(indexRun(source, { keeps })).rejects.toMatchObject({ message: expect.stringContaining(file) })
      const { tree, damages } = await indexRun(source, { keeps, repair: 'skip' })
      source.close()
      expect(damages).toHaveLength(1)
      expect((damages[0]?.offset ?? 0) + (damages[0]?.bytes ?? 0)).toBe(bytes.length)
      expect(tree.find('b')?.answer).toBeDefined()
    }
  })

  it("is not reported for the rest of a killed process's last line, or for records of a process that was overtaken", async () => {
    const folder = newRunFolder()
    const owners = createMortalOwners()
    const old = await openRun({ folder, now: () => new Date(0), owners })
    old.note(obs('a'))
    old.push()
    appendFileSync(join(folder, 'j-000001.jsonl'), 'torn')
    owners.die()
    const next = await openRun({ folder, now: () => new Date(0), owners })
    next.note(obs('b'))
    await next.close()
    expect(await placesIn(openFileRecords(folder, { mask: noMask }))).toEqual(['a', 'b'])
    truncateSync(join(folder, 'j-000001.jsonl'), readFileSync(join(folder, 'j-000001.jsonl')).lastIndexOf(10) + 1)
    old.note(obs('late'))
    await old.close()
    const source = openFileRecords(folder, { mask: noMask })
    expect((await indexRun(source, { keeps })).damages).toEqual([])
    source.close()
  })

  it('is refused if a whole file is missing', async () => {
    const folder = newRunFolder()
    await write(folder, [[obs('a')], [obs('b')], [obs('c')]])
    rmSync(join(folder, 'j-000002.jsonl'))
    const source = openFileRecords(folder, { mask: noMask })
    await expect(indexRun(source, { keeps })).rejects.toMatchObject({
      message: expect.stringContaining('j-000002.jsonl is missing'),
    })
    source.close()
  })

  it('is refused if valid records follow the damage, which is located, but is read on for a repair', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[begin('a'), obs('a#0'), obs('a#1')]])
    const bytes = readFileSync(file)
    const offset = bytes.indexOf('a#0') + 1
    const lineStart = bytes.lastIndexOf(10, offset) + 1
    bytes[offset] = 88
    writeFileSync(file, bytes)
    const source = openFileRecords(folder, { mask: noMask })
    await expect(indexRun(source, { keeps })).rejects.toMatchObject({
      code: 'JOURNAL_FAILED',
      message: expect.stringContaining(`${file} is damaged: `),
      hint: expect.stringContaining('--repair'),
    })
    const { tree, damages } = await indexRun(source, { keeps, repair: 'skip' })
    expect(damages).toMatchObject([{ file, offset: lineStart }])
    expect([tree.find('a#0'), tree.find('a#1')?.answer]).toEqual([undefined, expect.any(Number)])
    source.close()
  })

  it('is reported when a record changed after it was indexed', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[obs('a#0')]])
    const source = openFileRecords(folder, { mask: noMask })
    const { tree } = await indexRun(source, { keeps })
    writeFileSync(file, readFileSync(file, 'utf8').replace('"value":"a#0"', '"value":"b#0"'))
    expect(() => source.at(tree.find('a#0')?.answer ?? 0)).toThrow(`${file} was changed while it was read`)
    source.close()
  })
})

describe('a damaged or missing large value', () => {
  const large = (mark: string): string => mark.repeat(100_000)
  const run = [
    [begin('task/0'), obs('task/0/a', large('a')), done('task/0')],
    [begin('task/1'), obs('task/1/a', large('b')), obs('task/1/b', large('d'))],
    [begin('task/2'), obs('task/2/a')],
  ].flat()

  async function withBlobs(change: (file: string) => void) {
    const folder = newRunFolder()
    await write(folder, [run])
    for (const name of readdirSync(join(folder, 'blobs'))) change(join(folder, 'blobs', name))
    const source = openFileRecords(folder, { mask: noMask })
    onTestFinished(() => source.close())
    return { folder, source }
  }

  it.each([
    ['is missing', (file: string) => rmSync(file)],
    ['is corrupt', (file: string) => truncateSync(file, 50_000)],
    ['is corrupt', (file: string) => writeFileSync(file, JSON.stringify(large('c')))],
  ])(
    '%s: the error names the part and the remedy, and a repair repeats that part but no finished one',
    async (reason, change) => {
      const { folder, source } = await withBlobs(change)
      const found = await indexRun(source, { keeps })
      const record = source.at(found.tree.find('task/1/a')?.answer ?? 0)
      expect(() => source.value(record.k === 'obs' && record.status === 'ok' ? record.value : undefined)).toThrow(
        expect.objectContaining({
          code: 'JOURNAL_FAILED',
          message: expect.stringMatching(`^the record of task/1/a is damaged: ${folder}/blobs/.* ${reason}`),
          hint: 'Resume with --repair: the part that it belongs to is repeated, and paid for again.',
        }),
      )
      const { tree, damages, redone } = await indexRun(source, { keeps, repair: 'redo' })
      expect(redone).toEqual(['task/1'])
      expect(damages.map(damageText)).toEqual(Array.from({ length: 3 }, () => expect.stringContaining(reason)))
      expect([tree.find('task/0')?.done, tree.find('task/1'), tree.find('task/2/a')?.answer]).toEqual([
        expect.any(Number),
        undefined,
        expect.any(Number),
      ])
    },
  )

  it('of a finished part makes the part unfinished', async () => {
    const folder = newRunFolder()
    await write(folder, [[begin('task/0'), done('task/0', large('a'))]])
    rmSync(join(folder, 'blobs'), { recursive: true })
    const source = openFileRecords(folder, { mask: noMask })
    onTestFinished(() => source.close())
    const { tree, redone } = await indexRun(source, { keeps, repair: 'redo' })
    expect([redone, tree.find('task/0')]).toEqual([['task/0'], undefined])
  })
})

it('reads only the epochs before a given one', async () => {
  const folder = newRunFolder()
  await write(folder, [[obs('a')], [obs('b')], [obs('c')]])
  expect(await placesIn(openFileRecords(folder, { mask: noMask, before: 3 }))).toEqual(['a', 'b'])
  expect(await placesIn(openFileRecords(folder, { mask: noMask }))).toEqual(['a', 'b', 'c'])
})

it('reads a record that is longer than the read buffer', async () => {
  const folder = newRunFolder()
  const value = 'é'.repeat(30_000)
  const file = await write(folder, [[obs('a#0', value), obs('a#1')]])
  appendFileSync(file, 'torn')
  const source = openFileRecords(folder, { mask: noMask })
  const { tree } = await indexRun(source, { keeps })
  const record = source.at(tree.find('a#0')?.answer ?? 0)
  expect(record.k === 'obs' && record.status === 'ok' && record.value).toBe(value)
  source.close()
})
