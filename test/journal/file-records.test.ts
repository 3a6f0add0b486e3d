import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFileRecords, type RecordSource } from '../../src/journal/source.ts'
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
  it('is read up to a torn end, cut at any byte, without a word', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[begin('a'), obs('a#0'), done('a')], [obs('b')]])
    const bytes = readFileSync(file)
    for (let length = bytes.length - 1; length > bytes.indexOf(10); length -= 1) {
      truncateSync(file, length)
      const source = openFileRecords(folder, { mask: noMask })
      const { tree, damages } = await indexRun(source, { keeps })
      source.close()
      expect(damages).toEqual([])
      expect(tree.find('b')?.answer).toBeDefined()
      const lines =
        bytes
          .subarray(0, length + 1)
          .toString('latin1')
          .split('\n').length - 1
      const known = [tree.find('a')?.begin, tree.find('a#0')?.answer, tree.find('a')?.done]
      expect(known.filter((location) => location !== undefined)).toHaveLength(lines - 1)
    }
  })

  it('is refused where good records follow the damage, names where, and is read on to repair', async () => {
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
    const { tree, damages } = await indexRun(source, { keeps, repair: true })
    expect(damages).toMatchObject([{ file, offset: lineStart }])
    expect([tree.find('a#0'), tree.find('a#1')?.answer]).toEqual([undefined, expect.any(Number)])
    source.close()
  })

  it('says so when a record changed after it was indexed', async () => {
    const folder = newRunFolder()
    const file = await write(folder, [[obs('a#0')]])
    const source = openFileRecords(folder, { mask: noMask })
    const { tree } = await indexRun(source, { keeps })
    writeFileSync(file, readFileSync(file, 'utf8').replace('"value":"a#0"', '"value":"b#0"'))
    expect(() => source.at(tree.find('a#0')?.answer ?? 0)).toThrow(`${file} was changed while it was read`)
    source.close()
  })
})

it('reads only the epochs before one', async () => {
  const folder = newRunFolder()
  await write(folder, [[obs('a')], [obs('b')], [obs('c')]])
  expect(await placesIn(openFileRecords(folder, { mask: noMask, before: 3 }))).toEqual(['a', 'b'])
  expect(await placesIn(openFileRecords(folder, { mask: noMask }))).toEqual(['a', 'b', 'c'])
})

it('gives a record that is longer than what is read in one go', async () => {
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
