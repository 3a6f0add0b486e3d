import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { finishHistory } from '../../src/journal/index-file.ts'
import {
  openPeriodBudget,
  type PeriodBudget,
  type PeriodLimits,
  periodTotals,
} from '../../src/journal/period-budget.ts'
import { noBudget, type Reservation } from '../../src/journal/budget.ts'
import { periodAround } from '../../src/journal/spending.ts'
import { tempTree } from '../helpers/temp.ts'
import { ask, makeRun } from '../history/fixtures.ts'
import { placeAt } from '../helpers/effects.ts'

const noon = new Date(2026, 10, 29, 12).getTime()
const hour = 3_600_000

/** A run with calls of one cent each. Without an end, it was killed. */
async function recorded(
  runs: string,
  id: string,
  {
    calls,
    from = noon - hour,
    isKilled = false,
  }: { readonly calls: number; readonly from?: number; readonly isKilled?: boolean },
): Promise<void> {
  const run = await makeRun({ runs, id, from })
  for (let index = 0; index < calls; index += 1)
    await ask(run, placeAt(`task/0/ask#${index}`), { question: 'q', answer: 'a' })
  if (isKilled) return run.journal.close()
  await run.end()
  await finishHistory(run.folder, {
    id,
    target: 'prompt',
    status: 'done',
    exit: 0,
    tasks: { done: 1, failed: 0, skipped: 0 },
    calls,
    tokens: { input: 0, output: 0, cached: 0 },
    cost_usd: calls / 100,
    models: [],
    repeated: 0,
  })
}

interface World {
  readonly root: string
  readonly open: (
    limits: PeriodLimits,
    more?: {
      readonly id?: string
      readonly workspace?: string
      readonly now?: number
      readonly unpriced?: 'allow' | 'deny'
    },
  ) => Promise<PeriodBudget>
}

function world(): World {
  const root = join(tempTree(), 'runs')
  return {
    root,
    async open(limits, { id = '20261129-120000-aaaaaa', workspace = 'one', now = noon, unpriced = 'deny' } = {}) {
      const opened = await openPeriodBudget({
        limits: { ...limits, unpriced },
        folder: join(root, workspace, id),
        holds: join(root, '../held'),
        now: () => now,
      })
      if (opened === undefined) throw new Error('nothing is limited')
      return opened
    },
  }
}

function call(
  budget: PeriodBudget,
  {
    usd = 0.01,
    isUnpriced = false,
    signal = new AbortController().signal,
  }: { readonly usd?: number; readonly isUnpriced?: boolean; readonly signal?: AbortSignal } = {},
): Promise<Reservation> {
  const estimate = { calls: 1, tokens: 10, ...(isUnpriced ? {} : { usd }) }
  return budget
    .around(noBudget)
    .reserve({ kind: 'model', request: { provider: 'test::small' }, estimate }, { at: [], signal })
}

describe('a limit of a day', () => {
  it('counts the runs of all workspaces, finished or killed, each call on the day on which it ended', async () => {
    const { root, open } = world()
    await recorded(join(root, 'one'), '20261129-100000-aaaaa1', { calls: 2 })
    await recorded(join(root, 'two'), '20261129-100000-aaaaa2', { calls: 3, isKilled: true })
    await recorded(join(root, 'two'), '20261120-100000-aaaaa3', { calls: 7, from: noon - 9 * 24 * hour })
    // it began a few milliseconds before midnight: its first call was yesterday
    await recorded(join(root, 'two'), '20261128-235959-aaaaa4', { calls: 2, from: periodAround('day', noon).start - 5 })
    const [day, month] = await periodTotals(join(root, 'one'), { day: { max_cost: 1 } }, noon)
    expect(day).toMatchObject({ period: 'day', max_cost: 1, workspace_max_cost: null })
    expect(day?.usd).toBeCloseTo(0.06, 9)
    expect(day?.workspace_usd).toBeCloseTo(0.02, 9)
    expect(month?.usd).toBeCloseTo(0.14, 9)

    await expect(call(await open({ day: { max_cost: 0.065 } }))).rejects.toMatchObject({
      code: 'BUDGET',
      message:
        "today's limit of $0.065 (budget.day.max_cost) does not allow a call of test::small: $0.06 spent today by all your runs, and it needs at least $0.01",
      hint: 'It begins again at 2026-11-30 00:00. Allow more with -c budget.day.max_cost=N, or in [budget.day] of your own config file.',
      limit: 'budget.day.max_cost',
    })
    await call(await open({ day: { max_cost: 0.07 } }))
    await call(await open({ day: { workspace_max_cost: 0.03 } }))
    await expect(call(await open({ month: { max_cost: 0.14 } }))).rejects.toThrow("this month's limit of $0.14")
    await call(await open({ day: { max_cost: 0.01 } }, { now: noon + 24 * hour }))
  })

  it('counts the calls of its own run, at what they cost', async () => {
    const { open } = world()
    const budget = await open({ day: { max_cost: 0.03 } })
    const first = await call(budget, { usd: 0.03 })
    first.settle({ calls: 1, tokens: 1, usd: 0.02 })
    const second = await call(budget)
    // without a report, the estimate counts
    second.settle(undefined)
    await expect(call(budget)).rejects.toThrow('$0.03 spent today')
  })

  it('is not exceeded by runs that are running at the same time: one waits for what another one holds', async () => {
    const { open } = world()
    const limits = { day: { max_cost: 0.015 } }
    const [one, other] = [
      await open(limits, { id: '20261129-120000-aaaaa1' }),
      await open(limits, { id: '20261129-120000-aaaaa2', workspace: 'two' }),
    ]
    const held = await call(one)
    const waiting = call(other)
    held.settle({ calls: 1, tokens: 1, usd: 0.001 })
    const granted = await waiting
    granted.settle({ calls: 1, tokens: 1, usd: 0.01 })
    await expect(call(one)).rejects.toThrow('$0.011 spent today')
    one.close()
    other.close()
  })

  it('ends the wait of a call that is stopped, and forgets what killed processes held', async () => {
    const { root, open } = world()
    const holds = join(root, '../held')
    mkdirSync(holds, { recursive: true })
    const paid = { start: periodAround('day', noon).start, nanos: 5 }
    const left = join(holds, '20261129-110000-bbbbbb.json')
    writeFileSync(
      left,
      JSON.stringify({
        pid: 2 ** 22 + 1,
        run: '20261129-110000-bbbbbb',
        workspace: 'x',
        paid: { day: paid, month: paid },
        held: 1e9,
      }),
    )
    const budget = await open({ day: { max_cost: 0.015 } })
    await call(budget)
    expect(existsSync(left)).toBe(false)
    const stop = new AbortController()
    const waiting = call(budget, { signal: stop.signal })
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })

  it('waits while another process compares, however long that takes, and not for one that was killed', async () => {
    const { root, open } = world()
    const lock = join(root, '../held/lock')
    mkdirSync(join(root, '../held'), { recursive: true })
    const budget = await open({ day: { max_cost: 1 } })
    writeFileSync(lock, String(2 ** 22 + 1))
    const granted = await call(budget)
    granted.settle({ calls: 1, tokens: 1, usd: 0.01 })

    writeFileSync(lock, String(process.pid))
    utimesSync(lock, 0, 0)
    const stop = new AbortController()
    const waiting = call(budget, { signal: stop.signal })
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    expect(readFileSync(lock, 'utf8')).toBe(String(process.pid))
  })

  it('refuses calls without a known price, unless they are allowed', async () => {
    const { open } = world()
    await expect(call(await open({ day: { max_cost: 1 } }), { isUnpriced: true })).rejects.toThrow(
      'the price of test::small is unknown',
    )
    await call(await open({ day: { max_cost: 1 } }, { unpriced: 'allow' }), { isUnpriced: true })
  })
})
