import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeCassette } from '../../src/journal/cassette.ts'
import { openCassette } from '../../src/journal/open-cassette.ts'
import { createPathTokens } from '../../src/journal/portable.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import type { RecordSource } from '../../src/journal/source.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { tempTree } from '../helpers/temp.ts'

const large = 'läßt «path:x» /work/app/a "quoted"\n'.repeat(20_000)

/** A run with two epochs, recorded below `/work/app`. */
async function recordRun(value = large): Promise<string> {
  const folder = join(tempTree(), 'run')
  const now = (): Date => new Date(1000)
  for (const epoch of [1, 2]) {
    const journal = await openRun({ folder, now })
    const facts = { workspace: '/work/app', folders: { home: '/home/me' } }
    journal.note({ k: 'run.start', run: 'r', file: '/work/app/a.md', hash: 'h', version: '1', facts })
    journal.note({ k: 'source', name: 'config', path: '/home/me/c.toml', hash: 'h', value: 'private' })
    journal.note({
      k: 'obs',
      p: `o${epoch}`,
      name: 'file.read',
      args: ['/work/app/b', '/home/me'],
      status: 'ok',
      value,
    })
    journal.note({ k: 'run.end', exit: 0, stop: 'done' })
    await journal.close()
  }
  return folder
}

async function cassetteOf(folder: string): Promise<string> {
  let text = ''
  await writeCassette(folder, (line) => void (text += line))
  const file = join(tempTree(), 'run.cassette')
  writeFileSync(file, text)
  return file
}

async function recordsOf(source: RecordSource): Promise<readonly JournalRecord[]> {
  const locations: number[] = []
  await source.scan((_, location) => locations.push(location))
  return locations.map((location) => source.at(location))
}

it('restores the records of all epochs, with large values and the local folders', async () => {
  const { toPaths } = createPathTokens({ workspace: '/other', home: '/root' })
  const source = openCassette(await cassetteOf(await recordRun()), { mask: { ...noMask, unmask: toPaths } })
  const records = await recordsOf(source)
  expect(records.map(({ e, k }) => `${e} ${k}`)).toEqual([
    '1 seg',
    '1 run.start',
    '1 obs',
    '1 run.end',
    '2 seg',
    '2 run.start',
    '2 obs',
    '2 run.end',
  ])
  const read = records[6]
  if (read?.k !== 'obs' || read.status !== 'ok') throw new Error('no observation')
  expect(source.value(read.args)).toEqual(['/other/b', '/root'])
  expect(source.value(read.value)).toBe(large.replaceAll('/work/app', '/other'))
  source.close()
})

it('contains each large value once, in lines of at most 1 MB, and no config', async () => {
  const text = readFileSync(await cassetteOf(await recordRun()), 'utf8')
  const lines = text.split('\n')
  const parts = lines.flatMap(
    (line) => /"k":"blob","hash":"(\w+)","part":(\d+),"parts":(\d+)/.exec(line)?.slice(1) ?? [],
  )
  const [hash = '', , count] = parts
  expect(Number(count)).toBeGreaterThan(2)
  expect(parts).toEqual(Array.from({ length: Number(count) }, (_, part) => [hash, String(part), count]).flat())
  expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThan(1024 * 1024)
  expect(text).not.toContain('private')
  expect(text).not.toContain('/home/me')
})

it('names the line and the byte of any damage', async () => {
  const file = await cassetteOf(await recordRun('x'.repeat(70_000)))
  const bytes = readFileSync(file)
  const open = async (content: Buffer): Promise<readonly JournalRecord[]> => {
    writeFileSync(file, content)
    const source = openCassette(file, { mask: noMask })
    return recordsOf(source).finally(() => source.close())
  }
  const starts = [0, ...[...bytes.entries()].flatMap(([index, byte]) => (byte === 10 ? [index + 1] : []))]
  for (const [line, start] of starts.slice(1, -1).entries()) {
    const flipped = Buffer.from(bytes)
    flipped[start + 12] = (flipped[start + 12] ?? 0) ^ 1
    await expect(open(flipped)).rejects.toThrow(`line ${line + 2}, at byte ${start}, is corrupt`)
    await expect(open(bytes.subarray(0, start))).rejects.toThrow('is incomplete')
    await expect(open(bytes.subarray(0, start + 20))).rejects.toThrow(`line ${line + 2}`)
  }
  await expect(open(Buffer.alloc(0))).rejects.toThrow('is not a cassette')
  await expect(open(Buffer.from('hello\n'))).rejects.toThrow('is not a cassette')
  await expect(open(Buffer.concat([bytes.subarray(0, starts[1]), bytes.subarray(starts.at(-2))]))).rejects.toThrow(
    'is incomplete',
  )
})

it('refuses a folder without a run', async () => {
  await expect(writeCassette(tempTree(), () => {})).rejects.toThrow('there is no recorded run')
})

it('replaces a path by a token only as a whole', () => {
  const { toTokens, toPaths } = createPathTokens({ workspace: '/work/app', home: '/work', root: '/' })
  const text =
    '/work/app /work/app/a.ts (/work/app) file:///work/app. /work/app2 /my/work/app /work/app.old /work/x «path:»'
  expect(toTokens(text)).toBe(
    '«path:workspace» «path:workspace»/a.ts («path:workspace») file://«path:workspace». «path:home»/app2 /my/work/app «path:home»/app.old «path:home»/x «path:=»»',
  )
  expect(toPaths(toTokens(text))).toBe(text)
})
