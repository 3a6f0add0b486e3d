import { describe, expect, it } from 'vitest'
import { comparisonJson, compareRuns } from '../../src/history/run-diff.ts'
import { everything, withView } from '../../src/history/run-view.ts'
import { differenceText } from '../../src/cli/commands/runs-show.ts'
import { createPaint } from '../../src/render/style.ts'
import { ask, makeRun, makeTask } from './fixtures.ts'
import { placeAt } from '../helpers/effects.ts'

function differences(before: string, after: string) {
  return withView(before, everything, (one) => withView(after, everything, (other) => [...compareRuns(one, other)]))
}

it('finds no difference between two runs that did the same at different times', async () => {
  const [one, other] = [await makeRun(), await makeRun({ from: 1_900_000_000_000 })]
  for (const run of [one, other]) {
    run.effects.observe(placeAt('pre/0:a.lua/seed'), { name: 'math.randomseed', args: [] }, () => (run === one ? 1 : 2))
    run.effects.observe(placeAt('pre/0:a.lua/chunk#0'), { name: 'aip.time.now_iso_utc', args: [] }, () => [
      String(run === one),
    ])
    const info = { _type: 'FileInfo', path: 'a', mtime: run === one ? 1 : 2, ctime: 3 }
    run.effects.observe(placeAt('pre/0:a.lua/chunk#1'), { name: 'aip.file.info', args: ['a'] }, () => [info])
    await makeTask(run, 0, 'same')
    await run.end()
  }
  expect(await differences(one.folder, other.folder)).toEqual([])
})

it('finds sources, prompts, answers and host calls that differ, by place', async () => {
  const [one, other] = [await makeRun(), await makeRun()]
  for (const run of [one, other]) {
    const word = run === one ? 'red' : 'blue'
    run.journal.note({
      k: 'source',
      name: 'prompt',
      path: '/w/ask.md',
      hash: word,
      value: { prompt: `Say ${word}.\n` },
    })
    run.effects.observe(placeAt('files/context'), { name: 'file.list', args: ['*'] }, () => [word])
    await ask(run, placeAt('task/0/ask#0'), { question: `Say ${word}.`, answer: `It is ${word}.` })
    await run.end()
  }
  expect(await differences(one.folder, other.folder)).toEqual([
    { kind: 'source', place: 'prompt', before: 'Say red.\n', after: 'Say blue.\n' },
    { kind: 'call', place: 'files/context', before: 'file.list("*") = ["red"]', after: 'file.list("*") = ["blue"]' },
    {
      kind: 'prompt',
      place: 'task/0/ask#0',
      before: '[model]\ntest::small\n\n[user]\nSay red.',
      after: '[model]\ntest::small\n\n[user]\nSay blue.',
    },
    { kind: 'answer', place: 'task/0/ask#0', before: 'It is red.', after: 'It is blue.' },
  ])
})

it('says what each call with another answer took', async () => {
  const [one, other] = [await makeRun(), await makeRun()]
  await makeTask(one, 0, 'red')
  await makeTask(other, 0, 'blue')
  await ask(other, placeAt('task/1/ask#0'), { question: 'one more', answer: 'more' })
  for (const run of [one, other]) await run.end()
  const { differences: found } = JSON.parse(await comparisonJson(one.folder, other.folder)) as {
    readonly differences: readonly { readonly kind: string; readonly spent?: unknown }[]
  }
  const cost = { calls: 1, cost_usd: 0.01, tokens: { input: 100, output: 10 } }
  expect(found).toMatchObject([
    { kind: 'answer', place: 'task/0/ask#0', diff: '-red\n+blue', spent: { before: cost, after: cost } },
    { kind: 'part', place: 'task/1' },
  ])
})

describe('a call with values over 64 KB', () => {
  const load = async (text: string, mtime: number) => {
    const run = await makeRun()
    const file = { path: 'a.txt', mtime, ctime: mtime, content: text }
    run.effects.observe(placeAt('pre/0:a.lua/chunk#0'), { name: 'aip.file.load', args: ['a.txt'] }, () => [file])
    await run.effects.call(placeAt('pre/0:a.lua/chunk#1'), { name: 'aip.file.save', args: ['b.txt', text] }, () => [1])
    await run.end()
    return run.folder
  }
  const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`)

  it('is no difference when only the times of files in it differ', async () => {
    const text = lines.join('')
    expect(await differences(await load(text, 1), await load(text, 2))).toEqual([])
  })

  it('shows the differences in them, line by line', async () => {
    const found = await differences(await load(lines.join(''), 1), await load(lines.with(700, 'other\n').join(''), 2))
    expect(found.map(({ kind, place }) => `${kind} ${place}`)).toEqual([
      'call pre/0:a.lua/chunk#0',
      'call pre/0:a.lua/chunk#1',
    ])
    for (const one of found) {
      const shown = differenceText(one, { paint: createPaint({ env: {}, isTerminal: false }), lines: 60 })
      expect(shown).toContain('\n line 699\\n\n-line 700\\n\n+other\\n\n line 701\\n\n')
      expect(shown).not.toContain('$blob')
    }
  })
})

it('names a part that only one run has, with its calls, without its content', async () => {
  const [one, other] = [await makeRun(), await makeRun()]
  await makeTask(one, 0, 'a')
  await makeTask(other, 0, 'a')
  await makeTask(other, 1, 'b')
  for (const run of [one, other]) await run.end()

  expect(await differences(one.folder, other.folder)).toEqual([
    { kind: 'part', place: 'task/1', before: null, after: '1 model call' },
  ])
})
