import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ToolResult } from '../../../src/event/agent.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { Killed, type Lives, resumedProcess } from '../../helpers/resumed-process.ts'
import { toolHost } from '../../helpers/tool-call.ts'
import { makeTree, readTree } from '../changes/tree.ts'
import { core } from '../../helpers/series.ts'

const tree = { 'a.txt': 'one\ntwo\ntwo\n', 'b.txt': 'b\n' }
const calls = [
  ['write', { path: 'made/new.txt', content: 'new\n' }],
  ['edit', { path: 'a.txt', old_text: 'one', new_text: 'one\none' }],
  ['write', { path: 'b.txt', content: 'unseen\n' }],
  ['edit', { path: 'a.txt', old_text: 'two', new_text: 'two two', all: true }],
  ['edit', { path: 'a.txt', old_text: 'three', new_text: 'four' }],
  ['write', { path: 'made/new.txt', content: 'newer\n' }],
] as const
const done = { 'a.txt': 'one\none\ntwo two\ntwo two\n', 'b.txt': 'b\n', 'made/new.txt': 'newer\n' }

interface Process {
  readonly results: readonly ToolResult[]
  readonly isKilled: boolean
  /** Files whose whole content the model knows at the end. */
  readonly known: readonly string[]
  readonly changed: number
}

async function run(root: string, records: JournalRecord[], lives: Lives = {}): Promise<Process> {
  const { context, uncertain } = await resumedProcess(root, records, lives)
  expect(uncertain).toEqual([])
  const { call, box } = toolHost(root, { process: context })
  const results: ToolResult[] = []
  try {
    for (const [name, input] of calls) results.push(await call(name, input))
  } catch (error) {
    if (!(error instanceof Killed)) throw error
    return { results, isKilled: true, known: [], changed: 0 }
  }
  const known = [...box.seen.whole()].map(([path, hash]) => `${path.slice(root.length)} ${hash}`)
  return { results, isKilled: false, known, changed: box.work.changes().length }
}

it('a call that a process did not finish is finished by the next one: same results, same files', async () => {
  const reference = makeTree(tree)
  const whole = await run(reference, [])
  expect(readTree(reference)).toEqual(done)
  expect(whole.changed).toBe(4)
  let kills = 0
  for (const diesBefore of ['its end', 'the change'] as const) {
    for (let lives = 1; ; lives += core(5, 1)) {
      const root = makeTree(tree)
      const records: JournalRecord[] = []
      const { isKilled } = await run(root, records, { lives, diesBefore })
      if (!isKilled) break
      kills += 1
      expect({ lives, ...(await run(root, records)) }).toEqual({ lives, ...whole })
      expect(readTree(root)).toEqual(done)
    }
  }
  expect(kills).toBeGreaterThan(core(5, 30))
})

it('what a person has written between the processes is not lost', async () => {
  for (let lives = 1; ; lives += 1) {
    const root = makeTree(tree)
    const records: JournalRecord[] = []
    const { isKilled } = await run(root, records, { lives, diesBefore: 'the change' })
    if (!isKilled) break
    // for a change that was started, it would be unknown whether it was made
    if (records.some(({ k, ...record }) => k === 'started' && JSON.stringify(record).includes('"a.txt"'))) continue
    writeFileSync(join(root, 'a.txt'), `by a person\n${tree['a.txt']}`)
    const resumed = await run(root, records)
    expect(readTree(root)).toEqual({ ...done, 'a.txt': `by a person\n${done['a.txt']}` })
    expect(resumed.results.map(({ isError = false }) => isError)).toEqual([false, false, true, false, true, false])
  }
})

it('the record of a change does not contain the file', async () => {
  const root = makeTree({ 'a.txt': `${'x'.repeat(100_000)}\nlast\n` })
  const records: JournalRecord[] = []
  const { context } = await resumedProcess(root, records)
  const { call } = toolHost(root, { process: context })
  expect((await call('edit', { path: 'a.txt', old_text: 'last', new_text: 'end' })).isError).toBeUndefined()
  expect(JSON.stringify(records).length).toBeLessThan(5000)
})
