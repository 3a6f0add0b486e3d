import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { type Evidence, violations } from '../helpers/durable/checker.ts'
import type { Finished } from '../helpers/durable/finished.ts'
import type { JournalState, Noted } from '../helpers/durable/journal-state.ts'
import { callUsd, type PaidCall } from '../helpers/durable/server.ts'

const model = (e: number, n: number, name: string): Noted => ({
  e,
  n,
  k: 'started',
  p: `task/${name}`,
  kind: 'model',
  request: { messages: [{ role: 'user', parts: [{ type: 'text', text: name }] }] },
})
const end = (e: number, n: number, s: number): Noted => ({ e, n, k: 'ended', s, kind: 'model', status: 'ok' })
const call = (name: string): PaidCall => ({ key: sha256(name), name, tokens: 7, answered: true })

function journal(...records: readonly Noted[]): JournalState {
  const epochs = [...new Set(records.map(({ e }) => e))]
  const files = epochs.map((epoch) => {
    const own = JSON.stringify(records.filter(({ e }) => e === epoch))
    return { name: `j-00000${epoch}.jsonl`, inode: epoch, bytes: own.length, hash: sha256(own) }
  })
  return { folder: '/run', run: 'run', files, records, damaged: [], reader: { records: records.length, corrupt: 0 } }
}

const header = (e: number): Noted => ({ e, n: 0, k: 'seg' })
const stopped = [header(1), model(1, 1, 'a'), end(1, 2, 1), model(1, 3, 'b')]
const whole = [...stopped, header(2), model(2, 1, 'b'), end(2, 2, 1)]

function finished(given: Partial<Finished> = {}, calls = 2): Finished {
  const usage = { calls, input: 7 * calls, output: 0 }
  return {
    code: 0,
    stderr: '',
    answers: ['A', 'B'],
    shown: ['printed'],
    files: { 'out/log.txt': 'a\nb\n' },
    commandRuns: 1,
    last: {
      type: 'run.completed',
      stop_reason: 'done',
      exit_code: 0,
      outputs: ['A', 'B'],
      usage,
      cost_usd: calls * callUsd,
      repeated: [{ kind: 'model', place: 'task/b', id: '1.3' }],
    },
    ...given,
  }
}

/** A run that was stopped in call `b` and resumed; everything is correct except for the given fields. */
function evidence(given: Partial<Evidence> = {}): Evidence {
  const reference = finished()
  return {
    reference,
    stops: [{ journal: journal(...stopped) }],
    finished: finished(),
    journal: journal(...whole),
    calls: [call('a'), call('b'), call('b')],
    concurrency: 4,
    ...given,
  }
}

function listed(...places: readonly string[]): Finished {
  const { last, ...rest } = finished()
  return { ...rest, last: last && { ...last, repeated: places.map((place) => ({ id: '1.3', kind: 'model', place })) } }
}

describe('the checker of durable runs', () => {
  it('reports nothing for a correctly resumed run', () => {
    expect(violations(evidence())).toEqual([])
  })

  it('reports records that are missing, damaged, modified, or not numbered consecutively', () => {
    const written = { '1': JSON.stringify(stopped).length + 5 }
    expect(violations(evidence({ stops: [{ journal: journal(...stopped), written }] }))).toEqual([
      expect.stringMatching(/^I1: j-000001.jsonl has \d+ of \d+ bytes$/),
    ])
    expect(violations(evidence({ journal: { ...journal(...whole), damaged: ['x'] } }))).toEqual([
      'I1: damaged lines: x',
    ])
    const reader = { records: 6, corrupt: 1 }
    expect(violations(evidence({ journal: { ...journal(...whole), reader } }))).toEqual([
      'I1: the reader reports 1 damaged parts',
      'I1: the reader gives 6 of 7',
    ])
    const other = [header(1), model(1, 1, 'c'), ...whole.slice(2)]
    expect(violations(evidence({ journal: journal(...other) }))).toContain('I2: j-000001.jsonl was changed later')
    const gap = [header(1), model(1, 1, 'a'), end(1, 3, 1), ...whole.slice(3)]
    expect(violations(evidence({ journal: journal(...gap) }))).toContain('I2: j-000001.jsonl is numbered 0,1,3,3')
  })

  it('reports a call with a recorded result that is made again', () => {
    const again = [...whole, model(2, 3, 'a'), end(2, 4, 3)]
    const calls = [call('a'), call('b'), call('b'), call('a')]
    expect(violations(evidence({ journal: journal(...again), calls }))).toEqual([
      'I3: a was begun again after its result',
    ])
  })

  it('reports calls without a record, and more calls than were started', () => {
    expect(violations(evidence({ calls: [call('a'), call('b'), call('b'), call('z')] }))).toEqual([
      'I2: z was sent without being recorded',
    ])
    expect(violations(evidence({ calls: [call('a'), call('a'), call('b')] }))).toEqual([
      'I4: a was sent 2 times and begun 1 times',
    ])
  })

  it('reports more concurrent calls than allowed', () => {
    const many = [header(1), ...['a', 'b', 'c', 'd', 'e'].map((name, index) => model(1, index + 1, name))]
    expect(violations(evidence({ journal: journal(...many), stops: [], finished: listed(), calls: [] }))).toEqual([
      'I4: 5 calls were under way when epoch 1 stopped',
    ])
  })

  it('reports interrupted calls that were repeated without being listed, and listed ones that were not repeated', () => {
    expect(violations(evidence({ finished: listed() }))).toEqual(['I4: done again: model task/b; listed: '])
    expect(violations(evidence({ finished: listed('task/a', 'task/b') }))).toEqual([
      'I4: done again: model task/b; listed: model task/a, model task/b',
    ])
  })

  it('reports costs that are not counted, and counts what a stopped process paid in vain', () => {
    expect(violations(evidence({ finished: finished({}, 3) }))).toEqual([expect.stringMatching(/^I6: .*"calls":3/)])
    const spent = [{ usage: { calls: 1, input: 7, output: 0 }, costUsd: callUsd }]
    const cancelled = { ...end(1, 4, 3), status: 'cancelled', spent }
    const records = [...stopped, cancelled, ...whole.slice(stopped.length)]
    const stops = [{ journal: journal(...stopped, cancelled) }]
    expect(violations(evidence({ journal: journal(...records), stops, finished: finished({}, 3) }))).toEqual([])
  })

  it.each([
    ['other answers', { answers: ['A'] }, 'I5: other answers'],
    ['a print that is missing', { shown: [] }, 'I5: shown: '],
    [
      'a line appended twice',
      { files: { 'out/log.txt': 'a\na\nb\n' } },
      'I5: out/log.txt is "a\\na\\nb\\n", not "a\\nb\\n"',
    ],
    ['a file that is missing', { files: {} }, 'I5: out/log.txt is undefined, not "a\\nb\\n"'],
    ['a command that ran twice', { commandRuns: 2 }, 'I5: the command ran 2 times'],
    ['another end', { code: 1, stderr: 'error: no' }, 'I5: exit 1, error: no'],
  ])('reports %s', (_, given, problem) => {
    expect(violations(evidence({ finished: finished(given) }))).toEqual([problem])
  })
})
