import { afterAll, beforeAll, expect, it } from 'vitest'
import { finishedIn } from '../helpers/durable/finished.ts'
import { readJournal } from '../helpers/durable/journal-state.ts'
import { play } from '../helpers/durable/play.ts'
import { callCount, makeWorld } from '../helpers/durable/scenario.ts'
import { type CountingServer, startCountingServer } from '../helpers/durable/server.ts'

let server: CountingServer
beforeAll(async () => {
  server = await startCountingServer()
})
afterAll(() => server.close())

/** At this point, four tasks wait for their answers. */
const inFlight = { match: '"p":"task/3/agent/ask/turn/0#0"', at: 1, when: 'after' } as const

it('calls that may have been paid in vain count in the budget, after every resume (I6)', async () => {
  const world = makeWorld()
  const account = server.account()
  const options = { world, url: account.url }
  // four calls fewer than needed when two kills have cost four calls each
  const limit = `budget.calls=${callCount + 4}`
  await play(['run', 'ask.md', '--json', '-c', limit], { ...options, disturb: inFlight })
  const run = (await readJournal(world))?.run ?? ''
  await play(['resume', run, '--json'], { ...options, disturb: inFlight })

  const stopped = finishedIn(world, await play(['resume', run, '--json'], options))
  expect(stopped.last).toMatchObject({ type: 'run.failed', stop_reason: 'budget', exit_code: 4 })
  expect(account.calls.length).toBeLessThanOrEqual(callCount + 4)

  const more = ['resume', run, '--json', '-c', `budget.calls=${callCount + 8}`]
  const finished = finishedIn(world, await play(more, options))
  expect(finished.last).toMatchObject({ type: 'run.completed', usage: { calls: callCount } })
  expect(new Set(account.calls.map(({ key }) => key)).size).toBe(callCount)
})
