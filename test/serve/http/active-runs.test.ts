import { expect, it } from 'vitest'
import { createActiveRuns } from '../../../src/serve/http/active-runs.ts'
import { createBroker } from '../../../src/serve/workers/broker.ts'
import type { FromWorker, PendingApproval } from '../../../src/serve/workers/messages.ts'
import type { RunWorker } from '../../../src/serve/workers/pool.ts'

it('a request that is recorded is answered as soon as the process of its run asks, once, and not after the end', async () => {
  let tell: (message: FromWorker) => void = () => {}
  const answered: string[] = []
  const worker: RunWorker = {
    send: (message) => void (message.kind === 'answer' && answered.push(message.id)),
    listen(listener) {
      tell = listener
      return () => {}
    },
    gone: new Promise(() => {}),
    end: () => {},
  }
  const runs = createActiveRuns({
    most: 1,
    workers: { take: () => worker, close: async () => {} },
    broker: createBroker(),
    place: { cwd: '/', home: '/' },
    onProblem: () => {},
  })
  const beginning = runs.begin({ kind: 'start', file: 'ask.md', options: {} })
  tell({ kind: 'begun', id: 'run' })
  await beginning
  const request = { id: '1' } as PendingApproval

  const early = runs.untilAsked('run', '1')
  tell({ kind: 'asked', request })
  expect(await early).toBe(true)
  expect(runs.answer('run', '1', () => 'allow')).toBe(true)
  expect(answered).toEqual(['1'])
  expect(await runs.untilAsked('run', '1')).toBe(false)

  const late = runs.untilAsked('run', '2')
  tell({ kind: 'ended' })
  expect(await late).toBe(false)
  expect(await runs.untilAsked('other', '1')).toBe(false)
})
