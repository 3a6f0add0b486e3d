import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FilePort, nodeFiles } from '../../src/journal/file-port.ts'
import type { Reading } from '../../src/journal/segment-reader.ts'
import { readRun } from '../../src/journal/source.ts'
import { readValue } from '../../src/journal/cassette.ts'
import { encodeLine } from '../../src/journal/record.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { newRunFolder, readings, recordsIn } from './fixtures/run-folder.ts'

const now = (): Date => new Date(0)

async function smallJournal(): Promise<Buffer> {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now })
  for (const place of ['first', 'sécond 😀', 'third', 'fourth']) {
    await journal.append({ k: 'done', p: place, value: { place, list: [1, null] } })
  }
  await journal.close()
  return readFileSync(join(folder, 'j-000001.jsonl'))
}

/** A run folder with one file of these bytes, without a disk. */
function filesWith(bytes: Uint8Array): FilePort {
  return {
    ...nodeFiles,
    list: () => ['j-000001.jsonl'],
    openToRead: () => -1,
    close: () => undefined,
    read: async (_, target, position) => {
      const part = bytes.subarray(position, position + target.length)
      target.set(part)
      return part.length
    },
  }
}

async function readBytes(bytes: Uint8Array): Promise<readonly Reading[]> {
  const all: Reading[] = []
  for await (const reading of readRun('run', filesWith(bytes))) all.push(reading)
  return all
}

async function readLinesOf(...lines: readonly string[]): Promise<readonly Reading[]> {
  return readBytes(Buffer.from(lines.join('')))
}

function line(n: number, rest: object = { k: 'done', p: `place ${n}` }): string {
  return encodeLine(JSON.stringify({ e: 1, n, t: 0, ...rest }))
}

describe('damage', () => {
  it('reads a truncated journal up to the cut, without a wrong record', async () => {
    const bytes = await smallJournal()
    const whole = await readBytes(bytes)
    expect(whole).toHaveLength(5)
    for (let length = 0; length < bytes.length; length += 1) {
      const read = await readBytes(bytes.subarray(0, length))
      expect(read).toEqual(whole.slice(0, read.length))
      // a record counts as soon as its last byte, the one before the line feed, is present
      const complete =
        bytes
          .subarray(0, length + 1)
          .toString('latin1')
          .split('\n').length - 1
      expect(read).toHaveLength(complete)
    }
  })

  it('yields no wrong record when a bit of any byte is flipped, loses at most two, and reports everything but a torn end', async () => {
    const bytes = await smallJournal()
    const whole = await readBytes(bytes)
    for (let index = 0; index < bytes.length * 8; index += 1) {
      const damaged = Buffer.from(bytes)
      damaged[index >> 3] = (damaged[index >> 3] ?? 0) ^ (1 << (index & 7))
      const read = await readBytes(damaged)
      const records = read.filter((reading) => reading.type !== 'corrupt')
      for (const record of records) expect(whole).toContainEqual(record)
      expect(records.length).toBeGreaterThanOrEqual(whole.length - 2)
      const endIsLost = records.at(-1) !== undefined && !sameReading(records.at(-1), whole.at(-1))
      expect(read.length - records.length).toBe(records.length === whole.length || endIsLost ? 0 : 1)
    }
  })

  it('is reported with its place and size, and the rest is kept', async () => {
    const read = await readLinesOf(line(0), 'garbage\n', 'more garbage\n', line(3), line(4))
    const offset = line(0).length
    expect(read).toMatchObject([
      { type: 'record', record: { n: 0 } },
      { type: 'corrupt', file: join('run', 'j-000001.jsonl'), offset, bytes: 21, reason: 'corrupt' },
      { type: 'record', record: { n: 3 } },
      { type: 'record', record: { n: 4 } },
    ])
  })

  it('at the end is dropped silently', async () => {
    expect(await readLinesOf(line(0), line(1), line(2).slice(0, -8))).toMatchObject([
      { record: { n: 0 } },
      { record: { n: 1 } },
    ])
    expect(await readLinesOf(line(0), 'garbage\n', 'garbage\n')).toMatchObject([{ record: { n: 0 } }])
  })

  it('includes a line that is missing, repeated or from another file', async () => {
    expect(await readLinesOf(line(0), line(2))).toMatchObject([
      { record: { n: 0 } },
      { type: 'corrupt', offset: line(0).length, reason: 'records 1 to 1 are missing' },
      { record: { n: 2 } },
    ])
    expect(await readLinesOf(line(0), line(1), line(1), line(2))).toMatchObject([
      { record: { n: 0 } },
      { record: { n: 1 } },
      { type: 'corrupt', bytes: line(1).length },
      { record: { n: 2 } },
    ])
    expect(await readLinesOf(line(0), encodeLine('{"e":2,"n":1,"t":0,"k":"done","p":""}'), line(2))).toMatchObject([
      { record: { n: 0 } },
      { type: 'corrupt' },
      { record: { n: 2 } },
    ])
  })

  it('of 40 MB without a line feed does not prevent reading what follows', async () => {
    const garbage = Buffer.alloc(40 * 1024 * 1024, 'x')
    const read = await readBytes(Buffer.concat([Buffer.from(line(0)), garbage, Buffer.from(`\n${line(2)}`)]))
    expect(read).toMatchObject([
      { record: { n: 0 } },
      { type: 'corrupt', offset: line(0).length, bytes: garbage.length + 1 },
      { record: { n: 2 } },
    ])
  })

  it('of a blob is an error that names it', async () => {
    const folder = newRunFolder()
    const journal = await openRun({ folder, now })
    await journal.append({ k: 'done', p: '', value: 'x'.repeat(70_000) })
    await journal.close()
    const [record] = await recordsIn(folder)
    const value = record?.k === 'done' ? record.value : undefined
    const blob = join(folder, 'blobs', (value as { readonly $blob: string }).$blob)
    const content = readFileSync(blob, 'utf8')
    expect(await readValue(value, { folder, mask: noMask })).toHaveLength(70_000)

    for (const wrong of [content.slice(1), content.replace('x', 'y'), `${content} `, '']) {
      writeFileSync(blob, wrong)
      await expect(readValue(value, { folder, mask: noMask })).rejects.toMatchObject({
        code: 'JOURNAL_FAILED',
        message: `${blob}, which holds a recorded value, is corrupt`,
      })
    }
    unlinkSync(blob)
    await expect(readValue(value, { folder, mask: noMask })).rejects.toThrow(
      `${blob}, which holds a recorded value, is missing`,
    )
  })
})

describe('other versions', () => {
  it('include format 2 as it was first written', async () => {
    const folder = newRunFolder()
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'j-000001.jsonl'), formatTwo.join('\n') + '\n')
    const read = await readings(folder)
    expect(read.map((reading) => (reading.type === 'record' ? reading.record.k : reading.type))).toEqual([
      'seg',
      'run.start',
      'source',
      'obs',
      'started',
      'ended',
      'done',
      'run.end',
    ])
    expect(read[5]).toMatchObject({
      record: { s: 4, kind: 'model', status: 'ok', value: { text: 'Hello' }, cost: { tokens: 7 } },
    })
  })

  it('may have unknown kinds of records and unknown fields, which are kept', async () => {
    expect(
      await readLinesOf(line(0), line(1, { k: 'later', x: [1] }), line(2, { k: 'done', p: 'a', extra: 1 })),
    ).toEqual([
      { type: 'record', record: { e: 1, n: 0, t: 0, k: 'done', p: 'place 0' } },
      { type: 'unknown', record: { e: 1, n: 1, t: 0, k: 'later', x: [1] } },
      { type: 'record', record: { e: 1, n: 2, t: 0, k: 'done', p: 'a', extra: 1 } },
    ])
  })

  it.each([
    [3, 'It was written by a newer version of baton: use that one.'],
    [1, 'It was written by an earlier version of baton: run or record it again.'],
  ])('with another format are refused: %s', async (v, hint) => {
    await expect(readLinesOf(line(0, { k: 'seg', v, pid: 1, start: '', boot: '', host: '' }))).rejects.toMatchObject({
      code: 'JOURNAL_FAILED',
      message: `${join('run', 'j-000001.jsonl')} has format ${v}; this version reads format 2`,
      hint,
    })
  })
})

it('streams: the first record comes after the first part of a large file, and no read is large', async () => {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now })
  const value = 'x'.repeat(10_000)
  for (let index = 0; index < 2000; index += 1) journal.note({ k: 'done', p: `${index}`, value })
  await journal.close()
  const reads: number[] = []
  const files: FilePort = {
    ...nodeFiles,
    read(descriptor, target, position) {
      reads.push(target.length)
      return nodeFiles.read(descriptor, target, position)
    },
  }
  let count = 0
  for await (const reading of readRun(folder, files)) {
    if (count === 0) expect(reads).toHaveLength(1)
    if (reading.type === 'record') count += 1
  }
  expect(count).toBe(2001)
  expect(Math.max(...reads)).toBeLessThanOrEqual(256 * 1024)
  expect(reads.length).toBeGreaterThan(50)
})

function sameReading(left: Reading | undefined, right: Reading | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

const formatTwo: readonly string[] = [
  '2b14bdda {"e":1,"n":0,"t":1763766000004,"k":"seg","v":2,"pid":4711,"start":"ticks:8126","boot":"55ee16d0-651c-42b5-bfb0-6fd5492cff49","host":"workshop"}',
  'c85b82f2 {"e":1,"n":1,"t":1763766000000,"k":"run.start","run":"20251121-230000-3fa2c1","file":"/w/ask.md","hash":"abababababababababababababababababababababababababababababababab","version":"0.1.0","facts":{"tasks":1},"pins":{"ask.md":"abababababababababababababababababababababababababababababababab"}}',
  '18e15fc3 {"e":1,"n":2,"t":1763766000001,"k":"source","name":"prompt","path":"/w/ask.md","hash":"abababababababababababababababababababababababababababababababab","value":"Say hello."}',
  '69e62d90 {"e":1,"n":3,"t":1763766000002,"k":"obs","p":"task/0/data#0","name":"time","args":[],"status":"ok","value":1763766000}',
  '1122e76b {"e":1,"n":4,"t":1763766000003,"k":"started","p":"task/0/model","kind":"model","repeat":"safe","fp":"548f58d1c36c715b44f0863472074a97c448d5b8d18164b92adf55592b127f86","request":{"model":"m"},"estimate":{"tokens":9}}',
  '920b0d2e {"e":1,"n":5,"t":1763766000005,"k":"ended","p":"task/0/model","s":4,"kind":"model","status":"ok","value":{"text":"Hello"},"cost":{"tokens":7}}',
  'a9ecf706 {"e":1,"n":6,"t":1763766000006,"k":"done","p":"task/0/data","value":{"output":"Hello","big":{"$big":"12"}}}',
  '533873a9 {"e":1,"n":7,"t":1763766000007,"k":"run.end","exit":0,"stop":"done"}',
]
