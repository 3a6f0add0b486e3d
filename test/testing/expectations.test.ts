import { describe, expect, it } from 'vitest'
import type { Expectation } from '../../src/config/schema.ts'
import { expectedExit, type Observed, unmetExpectations } from '../../src/testing/expectations.ts'

const files: Readonly<Record<string, string>> = { 'out/a.txt': 'one\ntwo\n' }
const observed: Observed = {
  answer: 'It warns ships.\n\nIt has a lamp.',
  exit: 0,
  calls: 2,
  costUsd: 0.02,
  file: (path) => files[path],
}

function unmet(expectation: Expectation, changed: Partial<Observed> = {}): readonly string[] {
  return unmetExpectations([expectation], { ...observed, ...changed }).map(
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
  ])('hold: %j', (expectation) => {
    expect(unmet(expectation)).toEqual([])
  })

  it.each<[Expectation, string]>([
    [
      { answer_contains: ['ships', 'bees'] },
      'expect.0.answer_contains: the answer does not contain "bees"; it is "It warns ships.\\n\\nIt has a lamp."',
    ],
    [
      { answer_matches: '^lamp' },
      'expect.0.answer_matches: the answer does not match /^lamp/u; it is "It warns ships.\\n\\nIt has a lamp."',
    ],
    [
      { file_contains: { 'out/a.txt': 'three' } },
      'expect.0.file_contains.out/a.txt: out/a.txt does not contain "three"; it is "one\\ntwo\\n"',
    ],
    [{ file_contains: { 'b.txt': 'x' } }, 'expect.0.file_contains.b.txt: there is no file b.txt'],
    [{ file_equals: { 'b.txt': '' } }, 'expect.0.file_equals.b.txt: there is no file b.txt'],
    [{ calls: 1 }, 'expect.0.calls: models were called 2 times, not once'],
    [{ max_cost_usd: 0.01 }, 'expect.0.max_cost_usd: the model calls cost $0.02, more than $0.01'],
  ])('do not hold: %j', (expectation, message) => {
    expect(unmet(expectation)).toEqual([message])
  })

  it('say of a file that differs in which lines', () => {
    const [found] = unmetExpectations([{ file_equals: { 'out/a.txt': 'one\n2\n' } }], observed)
    expect(found?.message).toBe('out/a.txt differs from what is expected')
    expect(found?.diff).toBe('--- expected\n+++ out/a.txt\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n')
  })

  it('do not take a cost that is not known for nothing', () => {
    expect(unmet({ max_cost_usd: 1 }, { costUsd: null })).toEqual([
      'expect.0.max_cost_usd: the cost of the model calls is unknown',
    ])
  })

  it('show the beginning of a long answer only', () => {
    const [message = ''] = unmet({ answer_contains: 'b' }, { answer: 'a'.repeat(5000) })
    expect(message.length).toBeLessThan(500)
    expect(message.endsWith(' …')).toBe(true)
  })

  it('of all tables count, each with its own place', () => {
    const all = unmetExpectations([{ answer_contains: 'ships' }, { calls: 3 }, { answer_contains: 'bees' }], observed)
    expect(all.map(({ path }) => path)).toEqual([
      ['expect', 1, 'calls'],
      ['expect', 2, 'answer_contains'],
    ])
  })

  it('expect exit code 0 unless another one is named', () => {
    expect(expectedExit([])).toBe(0)
    expect(expectedExit([{ calls: 1 }, { exit: 4 }])).toBe(4)
  })
})
