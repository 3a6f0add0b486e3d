import { describe, expect, it } from 'vitest'
import type { Expectation } from '../../src/settings/tests.ts'
import { expectedExit, type TestOutcome, unmetExpectations } from '../../src/testing/expectations.ts'

const files: Readonly<Record<string, string>> = { 'out/a.txt': 'one\ntwo\n' }
const observed: TestOutcome = {
  answer: 'It warns ships.\n\nIt has a lamp.',
  exit: 0,
  calls: 2,
  costUsd: 0.02,
  output: { items: [{ name: 'x', 'a b': 1 }], count: 2 },
  file: (path) => files[path],
  changed: () => ['a.txt', 'b.txt'],
  ask: {
    signal: new AbortController().signal,
    schema: () => ({ type: 'array' }),
    lua: async (expression) => expression === 'exit == 0',
    judge: async (criteria) => criteria.map((one) => ({ is_met: one !== 'is rude', reason: 'it greets' })),
  },
}

async function unmet(expectation: Expectation, changed: Partial<TestOutcome> = {}): Promise<readonly string[]> {
  return (await unmetExpectations([expectation], { ...observed, ...changed })).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
}

describe('expectations of a test', () => {
  it.each<Expectation>([
    { answer_contains: 'ships' },
    { answer_contains: ['ships', 'lamp'] },
    { answer_matches: '^It warns \\p{L}+\\.' },
    { file_contains: { 'out/a.txt': ['one', 'two'] } },
    { file_equals: { 'out/a.txt': 'one\ntwo\n' } },
    { calls: 2, max_cost_usd: 0.02 },
    { exit: 7 },
    { output: { count: 2, items: [{ 'a b': 1, name: 'x' }] } },
    { json: { 'items[0].name': 'x', '$.count': 2, 'items[0]["a b"]': 1 } },
    { schema: { type: 'object', required: ['count'] } },
    { changed_files: ['b.txt', 'a.txt'] },
    { lua: 'exit == 0', judge: 'is polite' },
  ])('pass: %j', async (expectation) => {
    expect(await unmet(expectation)).toEqual([])
  })

  it.each<[Expectation, string]>([
    [
      { answer_contains: ['ships', 'bees'] },
      'expect.0.answer_contains: the answer does not contain "bees": "It warns ships.\\n\\nIt has a lamp."',
    ],
    [
      { answer_matches: '^lamp' },
      'expect.0.answer_matches: the answer does not match /^lamp/u: "It warns ships.\\n\\nIt has a lamp."',
    ],
    [
      { file_contains: { 'out/a.txt': 'three' } },
      'expect.0.file_contains.out/a.txt: out/a.txt does not contain "three": "one\\ntwo\\n"',
    ],
    [{ file_contains: { 'b.txt': 'x' } }, 'expect.0.file_contains.b.txt: there is no file b.txt'],
    [{ file_equals: { 'b.txt': '' } }, 'expect.0.file_equals.b.txt: there is no file b.txt'],
    [{ calls: 1 }, 'expect.0.calls: models were called 2 times, not once'],
    [{ output: 3 }, 'expect.0.output: the output differs from the expected output'],
    [
      { json: { 'items[1].name': 'x' } },
      'expect.0.json.items[1].name: items[1].name of the output is not "x"; it is missing',
    ],
    [{ json: { count: '2' } }, 'expect.0.json.count: count of the output is not "2"; it is 2'],
    [
      { schema: 'list.json' },
      'expect.0.schema: the output does not match the schema: $ must be a list, but is an object',
    ],
    [{ changed_files: ['a.txt'] }, 'expect.0.changed_files: b.txt was changed unexpectedly'],
    [{ changed_files: ['a.txt', 'b.txt', 'c.txt'] }, 'expect.0.changed_files: c.txt was not changed'],
    [{ lua: 'calls == 9' }, 'expect.0.lua: the Lua expression is false, not true'],
    [{ judge: ['is polite', 'is rude'] }, 'expect.0.judge: the judge model found this not met: is rude (it greets)'],
    [{ max_cost_usd: 0.01 }, 'expect.0.max_cost_usd: the model calls cost $0.02, more than $0.01'],
  ])('fail: %j', async (expectation, message) => {
    expect(await unmet(expectation)).toEqual([message])
  })

  it('show the different lines of a file', async () => {
    const [found] = await unmetExpectations([{ file_equals: { 'out/a.txt': 'one\n2\n' } }], observed)
    expect(found?.message).toBe('out/a.txt differs from the expected content')
    expect(found?.diff).toBe('--- expected\n+++ out/a.txt\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n')
  })

  it('do not treat an unknown cost as zero', async () => {
    expect(await unmet({ max_cost_usd: 1 }, { costUsd: null })).toEqual([
      'expect.0.max_cost_usd: the cost of the model calls is unknown',
    ])
  })

  it('about JSON report an answer that is not JSON', async () => {
    for (const expectation of [{ output: 1 }, { json: { a: 1 } }, { schema: {} }]) {
      const [message] = await unmet(expectation, { output: undefined, answer: 'ships' })
      expect(message).toContain('the answer is not JSON: "ships"')
    }
  })

  it('show only the beginning of a long answer', async () => {
    const [message = ''] = await unmet({ answer_contains: 'b' }, { answer: 'a'.repeat(5000) })
    expect(message.length).toBeLessThan(500)
    expect(message.endsWith(' …')).toBe(true)
  })

  it('of all tables apply, each with its own place', async () => {
    const all = await unmetExpectations(
      [{ answer_contains: 'ships' }, { calls: 3 }, { answer_contains: 'bees' }],
      observed,
    )
    expect(all.map(({ path }) => path)).toEqual([
      ['expect', 1, 'calls'],
      ['expect', 2, 'answer_contains'],
    ])
  })

  it('expect exit code 0 unless another one is given', () => {
    expect(expectedExit([])).toBe(0)
    expect(expectedExit([{ calls: 1 }, { exit: 4 }])).toBe(4)
  })
})
