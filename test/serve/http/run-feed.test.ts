import { basename, dirname } from 'node:path'
import { expect, it } from 'vitest'
import { part, task } from '../../../src/event/place.ts'
import { answersIn } from '../../../src/history/answers.ts'
import { createRunFeeds, type RunFeed } from '../../../src/serve/http/run-feed.ts'
import { ask, type MadeRun, makeRun } from '../../history/fixtures.ts'

const nothingHeld = { isHeld: () => false, isQueued: () => false }

async function work(run: MadeRun, index: number, answer: string): Promise<void> {
  const at = [task(index)]
  await run.effects.boundary(at, async () => {
    await ask(run, [...at, part('ask')], { question: 'q', answer })
    return { status: 'done', index, label: `file ${index}`, content: answer }
  })
  await run.journal.flush()
}

/** The same fact as the summary, the view and the rows of a feed have it. */
async function seen(feed: RunFeed): Promise<object> {
  await feed.refresh()
  const run = await feed.summary()
  return {
    done: run?.tasks.done,
    cost: run?.cost_usd,
    answers: feed.view((view) => answersIn(view).answers.map(({ text }) => text)),
    rows: feed.changedAfter(0).flatMap(({ row }) => (row.kind === 'task' ? [`${row.n} ${row.state}`] : [])),
  }
}

it('the summary, the answers and the rows of a run follow its record', async () => {
  const run = await makeRun({ isAlive: true })
  const feed = createRunFeeds(nothingHeld).of(run.folder)
  await work(run, 0, 'one')
  expect(await seen(feed)).toEqual({ done: 1, cost: 0.01, answers: ['one'], rows: ['0 done'] })
  await work(run, 1, 'two')
  expect(await seen(feed)).toEqual({ done: 2, cost: 0.02, answers: ['one', 'two'], rows: ['0 done', '2 done'] })
  await run.end()
})

it('what a later process does counts, and rows keep their numbers', async () => {
  const first = await makeRun()
  const feed = createRunFeeds(nothingHeld).of(first.folder)
  await work(first, 0, 'one')
  const failing = async (): Promise<never> => {
    throw new Error('the server is gone')
  }
  await first.effects.boundary([task(1)], failing).catch(() => undefined)
  await first.journal.close()
  expect(await seen(feed)).toEqual({ done: 1, cost: 0.01, answers: ['one'], rows: ['0 done', '2 failed'] })
  const second = await makeRun({ runs: dirname(first.folder), id: basename(first.folder), from: 1_900_000_000_000 })
  await work(second, 1, 'two')
  await second.end()
  expect(await seen(feed)).toEqual({ done: 2, cost: 0.02, answers: ['one', 'two'], rows: ['0 done', '2 done'] })
  expect(feed.isOver()).toBe(true)
})
