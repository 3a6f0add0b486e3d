import { expect, it } from 'vitest'
import { encodeFields, recordJson } from '../../src/journal/fields.ts'
import { type Head, readHead } from '../../src/journal/head.ts'
import { decodeLine, encodeLine, type Entry } from '../../src/journal/record.ts'
import { createRandom, type Random } from './fixtures/random-program.ts'

const names = [
  'task',
  '0:lint',
  'data#3',
  'é',
  '😀',
  'a"b',
  'a\\b',
  '%2F',
  ' ',
  '\n',
  '\u2028',
  '","rest":',
  '{"e":1',
  'x'.repeat(5000),
  '\ud800',
]

function randomEntry(random: Random): Entry {
  const name = (): string => names[Math.floor(random() * names.length)] ?? ''
  const p = Array.from({ length: Math.floor(random() * 4) }, name).join('/')
  const value = { [name()]: [name(), random(), null], status: 'error', choice: 'fail', kind: 'model' }
  const kinds: readonly Entry[] = [
    { k: 'obs', p, name: name(), args: [value], status: 'ok', value },
    { k: 'call', p, name: name(), args: [], status: 'error', error: { type: 'other', message: name() } },
    { k: 'started', p, kind: 'http', repeat: 'unsafe', fp: 'ff', request: value },
    { k: 'ended', p, s: Math.floor(random() * 1e6), kind: 'model', status: 'ok', value },
    { k: 'begin', p, key: { code: 'ff' } },
    { k: 'done', p, value },
    { k: 'show', p, event: value },
    { k: 'choice', p, of: [1, 2], choice: 'redo' },
    { k: 'use', p, path: name(), hash: 'ff' },
    { k: 'source', name: name(), path: name(), hash: 'ff', value },
    { k: 'run.start', run: 'r', file: name(), hash: 'ff', version: '1' },
    { k: 'run.end', exit: 0, stop: 'done' },
    { k: 'seg', v: 1, pid: 1, start: 'ticks:1', boot: name(), host: name() },
  ]
  return kinds[Math.floor(random() * kinds.length)] ?? { k: 'done', p }
}

function lineOf(entry: Entry, random: Random): Buffer {
  const head = {
    e: 1 + Math.floor(random() * 9),
    n: Math.floor(random() * 1e6),
    t: Math.floor((random() - 0.2) * 1e13),
  }
  return Buffer.from(encodeLine(recordJson(head, encodeFields(entry, { mask: (text) => text })))).subarray(0, -1)
}

/** What a head says, from the record parsed as a whole. */
function parsed(line: Buffer): Omit<Head, 'rest'> | undefined {
  const record = decodeLine(line)
  return record && { e: record.e, n: record.n, k: record.k, p: 'p' in record ? String(record.p) : '' }
}

it('tells the same of a record as parsing it', () => {
  const random = createRandom(1)
  for (let turn = 0; turn < 5000; turn += 1) {
    const line = lineOf(randomEntry(random), random)
    const { rest, ...head } = readHead(line) ?? { rest: '' }
    expect(head).toEqual(parsed(line))
    const { k, ...more } = decodeLine(line) ?? { k: '' }
    if (k === 'ended' || k === 'started') {
      expect(/^(?:,"s":(\d+))?,"kind":"(\w+)"/.exec(rest)?.[2]).toBe('kind' in more && more.kind)
      expect(rest.includes(',"status":"ok"')).toBe('status' in more && more.status === 'ok')
    }
    if (k === 'choice') expect(rest).toContain('"choice":"redo"')
  }
})

it('refuses a line of which a bit is flipped, or that is cut', () => {
  const random = createRandom(2)
  for (let turn = 0; turn < 40; turn += 1) {
    const line = lineOf({ k: 'obs', p: 'task/é', name: 'n', args: [random()], status: 'ok' }, random)
    for (let bit = 0; bit < line.length * 8; bit += 1) {
      const damaged = Buffer.from(line)
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      if (readHead(damaged) !== undefined) throw new Error(`${damaged.toString()} counts as good`)
    }
    for (let length = 0; length < line.length; length += 1) expect(readHead(line.subarray(0, length))).toBe(undefined)
  }
})

it('parses a good line whose fields stand in another order, or that has more of them', () => {
  const line = Buffer.from(encodeLine('{"k":"done","p":"a","n":2,"later":{"p":"b"},"e":1,"t":0}')).subarray(0, -1)
  expect(readHead(line)).toMatchObject({ e: 1, n: 2, k: 'done', p: 'a' })
  const later = Buffer.from(encodeLine('{"e":1,"n":2,"t":0,"k":"later.kind","x":1,"p":"a"}')).subarray(0, -1)
  expect(readHead(later)).toMatchObject({ e: 1, n: 2, k: 'later.kind', p: 'a' })
  for (const json of ['', '{}', '[]', 'null', '{"e":1,"n":2,"t":0,"k":7}', '{"e":1']) {
    expect(readHead(Buffer.from(encodeLine(json)).subarray(0, -1))).toBe(undefined)
  }
})
