import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { namesIn } from '../base/entries.ts'
import { BatonError, hasSystemCode } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import { isRunning } from '../base/process-group.ts'
import { dollars, modelOf, type Budget, type Reservation } from './budget.ts'
import { amountOf, fit, type Ledger, paidOf, type Wanted, wantedOf } from './ledger.ts'
import { isPaid } from './paid-calls.ts'
import { createSpendingReader, type Period, periodAround, readCalls } from './spending.ts'

/** `[budget.day]` and `[budget.month]`: US dollars for all runs of the user, and for those of a workspace. */
export type PeriodLimits = {
  readonly [P in Period]?:
    | { readonly max_cost?: number | undefined; readonly workspace_max_cost?: number | undefined }
    | undefined
}

export interface PeriodBudgetOptions {
  /** `unpriced`: calls without a known price pass, uncounted. */
  readonly limits: PeriodLimits & { readonly unpriced: 'deny' | 'allow' }
  /** The run folder; its folder is that of the workspace, beside those of the other workspaces. */
  readonly folder: string
  /** Where running processes note what they hold. */
  readonly holds: string
  /** By the wall clock, in milliseconds. */
  readonly now?: () => number
}

/** Limits what the runs of a day or a month cost together. */
export interface PeriodBudget {
  /** A budget in which a call reserves as well. */
  readonly around: <B extends Budget>(inner: B) => B
  /** Gives back what is held; call it when the run is in the index. */
  readonly close: () => void
}

/** One limit, as settings name it. */
interface Limit {
  readonly period: Period
  readonly of: 'max_cost' | 'workspace_max_cost'
  readonly usd: number
}

/** What a running process has paid and holds, in billionths of a US dollar. */
interface ProcessSpending {
  readonly pid: number
  readonly run: string
  readonly workspace: string
  /** Paid since the beginning of the day and of the month that its times name. */
  readonly paid: { readonly [P in Period]: { readonly start: number; readonly nanos: number } }
  readonly held: number
}

const pollMs = 200
const periods = ['day', 'month'] as const

/** Undefined: nothing is limited. */
export async function openPeriodBudget(options: PeriodBudgetOptions): Promise<PeriodBudget | undefined> {
  const { limits, folder, holds, now = Date.now } = options
  const all = periods.flatMap((period) =>
    (['max_cost', 'workspace_max_cost'] as const).flatMap((of): readonly Limit[] => {
      const usd = limits[period]?.[of]
      return usd === undefined ? [] : [{ period, of, usd }]
    }),
  )
  const [first] = all
  if (first === undefined) return undefined
  const [run, workspace] = [basename(folder), basename(dirname(folder))]
  const reader = createSpendingReader(dirname(dirname(folder)))
  const file = join(holds, `${run}.json`)
  /** Of this run: by time, since a process may have worked on it before. */
  const paid = (await readCalls(folder)).map(({ time, usd }) => ({ time, nanos: Math.round(usd * 1e9) }))
  let held = 0

  function paidSince(start: number): number {
    return paid.reduce((total, one) => total + (one.time >= start ? one.nanos : 0), 0)
  }

  function note(): void {
    const at = (period: Period) => {
      const { start } = periodAround(period, now())
      return { start, nanos: paidSince(start) }
    }
    const mine: ProcessSpending = {
      pid: process.pid,
      run,
      workspace,
      paid: { day: at('day'), month: at('month') },
      held,
    }
    try {
      mkdirSync(holds, { recursive: true, mode: 0o700 })
      writeFileSync(file, JSON.stringify(mine), { mode: 0o600 })
    } catch {
      // where no state can be kept, runs do not know of each other
    }
  }

  /** What has been spent and is held for a limit. */
  async function ledgerOf({ period, of, usd }: Limit, others: readonly ProcessSpending[]): Promise<Ledger> {
    const { start } = periodAround(period, now())
    const counts = of === 'max_cost' ? others : others.filter((one) => one.workspace === workspace)
    const finished = await reader.since(start, new Set([run, ...others.map((one) => one.run)]))
    const recorded = of === 'max_cost' ? finished.all : (finished.workspaces.get(workspace) ?? 0)
    const running = counts.reduce(
      (sum, one) => sum + (one.paid[period].start === start ? one.paid[period].nanos : 0),
      0,
    )
    const spent = Math.round(recorded * 1e9) + running + paidSince(start)
    const reserved = counts.reduce((sum, one) => sum + one.held, held)
    const nanos = (amount: number) => ({ calls: 0, tokens: 0, nanos: amount })
    return {
      limits: { nanos: Math.round(usd * 1e9) },
      spent: nanos(spent),
      held: nanos(reserved),
      running: reserved > 0 ? 1 : 0,
    }
  }

  /** The output that all limits allow; undefined: a running call may return enough for it. Throws if none can. */
  async function allowed(wanted: Wanted, request: Parameters<typeof modelOf>[0]): Promise<number | undefined> {
    const others = othersIn(holds, run)
    let most = Infinity
    for (const limit of all) {
      const ledger = await ledgerOf(limit, others)
      const found = fit(ledger, wanted)
      if (found.kind === 'fits') most = Math.min(most, found.outputTokens)
      else if (ledger.running > 0) return undefined
      else
        throw spentUp(limit, { ledger, needed: amountOf(wanted, wanted.output?.least ?? 0).nanos, request, now: now() })
    }
    return most
  }

  async function reserve(wanted: Wanted, request: Parameters<typeof modelOf>[0], signal: AbortSignal): Promise<number> {
    for (;;) {
      signal.throwIfAborted()
      const unlock = await lock(holds, signal)
      try {
        const outputTokens = await allowed(wanted, request)
        if (outputTokens !== undefined) {
          held += amountOf(wanted, outputTokens).nanos
          note()
          return outputTokens
        }
      } finally {
        unlock()
      }
      await wait(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  return {
    around: (inner) => ({
      ...inner,
      async reserve(effect, context): Promise<Reservation> {
        if (!isPaid(effect)) return inner.reserve(effect, context)
        const wanted = wantedOf(effect.estimate)
        if (!wanted.isPriced && limits.unpriced !== 'allow') throw unpriced(first, effect.request)
        const outputTokens = await reserve(wanted, effect.request, context.signal)
        const amount = amountOf(wanted, outputTokens)
        const release = (nanos: number): void => {
          held -= amount.nanos
          if (nanos > 0) paid.push({ time: now(), nanos })
          note()
        }
        let reservation: Reservation
        try {
          reservation = await inner.reserve(effect, context)
        } catch (error) {
          release(0)
          throw error
        }
        const { grant, settle } = reservation
        const output = Math.min(outputTokens, grant.outputTokens ?? Infinity)
        return {
          grant: wanted.output === undefined || output === Infinity ? grant : { ...grant, outputTokens: output },
          settle(cost) {
            settle(cost)
            release(paidOf(amount, cost).nanos)
          },
        }
      },
    }),
    close: () => rmSync(file, { force: true }),
  }
}

/** What other running processes hold. What a killed one held is given back: its calls are in its record. */
function othersIn(holds: string, run: string): readonly ProcessSpending[] {
  return namesIn(holds).flatMap((name) => {
    if (!name.endsWith('.json') || name === `${run}.json`) return []
    try {
      const value: unknown = JSON.parse(readFileSync(join(holds, name), 'utf8'))
      if (isObject(value) && typeof value['pid'] === 'number' && isRunning(value['pid']))
        return [value as unknown as ProcessSpending]
      rmSync(join(holds, name), { force: true })
    } catch {
      // it is being written or removed: its next version counts
    }
    return []
  })
}

const staleMs = 10_000
const lockPollMs = 20

/** Whether the process that has the lock was killed. It is created before it names its process. */
function isLeft(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    return pid > 0 ? !isRunning(pid) : Date.now() - statSync(file).mtimeMs > staleMs
  } catch {
    return false
  }
}

/** Only one process at a time compares and reserves. */
async function lock(holds: string, signal: AbortSignal): Promise<() => void> {
  const file = join(holds, 'lock')
  for (;;) {
    try {
      mkdirSync(holds, { recursive: true, mode: 0o700 })
      writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (!hasSystemCode(error, 'EEXIST')) return () => undefined
      if (isLeft(file)) rmSync(file, { force: true })
    }
    await wait(lockPollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

const names = {
  day: { limit: "today's limit", spent: 'today' },
  month: { limit: "this month's limit", spent: 'this month' },
} as const

function spentUp(
  { period, of, usd }: Limit,
  {
    ledger,
    needed,
    request,
    now,
  }: {
    readonly ledger: Ledger
    readonly needed: number
    readonly request: Parameters<typeof modelOf>[0]
    readonly now: number
  },
): BatonError {
  const whose = of === 'max_cost' ? 'all your runs' : 'the runs of this workspace'
  const setting = `budget.${period}.${of}`
  const spent = `${dollars(ledger.spent.nanos)} spent ${names[period].spent} by ${whose}`
  return new BatonError(
    'BUDGET',
    `${names[period].limit} of ${dollars(usd * 1e9)} (${setting}) does not allow a call of ${modelOf(request)}: ${spent}, and it needs at least ${dollars(needed)}`,
    {
      hint: `It begins again at ${localTime(periodAround(period, now).end)}. Allow more with -c ${setting}=N, or in [budget.${period}] of your own config file.`,
      limit: setting,
    },
  )
}

function unpriced({ period, of, usd }: Limit, request: Parameters<typeof modelOf>[0]): BatonError {
  return new BatonError(
    'BUDGET',
    `the price of ${modelOf(request)} is unknown, so ${names[period].limit} of $${usd} (budget.${period}.${of}) cannot be enforced`,
    {
      hint: 'Use a model with a known price, give it one in [prices], or set [budget] unpriced = "allow" in your own config file to call it without counting its cost.',
    },
  )
}

/** `2026-11-30 00:00`. */
function localTime(time: number): string {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** What was spent, and its limit, for people and programs. */
export interface PeriodTotal {
  readonly period: Period
  readonly usd: number
  readonly max_cost: number | null
  readonly workspace_usd: number
  readonly workspace_max_cost: number | null
  /** ISO 8601: when the next period begins. */
  readonly until: string
}

/** The totals of today and of this month. `folder`: the runs of the workspace. */
export async function periodTotals(
  folder: string,
  limits: PeriodLimits,
  now = Date.now(),
): Promise<readonly PeriodTotal[]> {
  const reader = createSpendingReader(dirname(folder))
  const totals: PeriodTotal[] = []
  for (const period of periods) {
    const { start, end } = periodAround(period, now)
    const { all, workspaces } = await reader.since(start, new Set())
    totals.push({
      period,
      usd: all,
      max_cost: limits[period]?.max_cost ?? null,
      workspace_usd: workspaces.get(basename(folder)) ?? 0,
      workspace_max_cost: limits[period]?.workspace_max_cost ?? null,
      until: new Date(end).toISOString(),
    })
  }
  return totals
}

/** `today: $1.2 of $5 by all your runs, $0.5 in this workspace`. */
export function totalText({ period, usd, max_cost, workspace_usd, workspace_max_cost }: PeriodTotal): string {
  const amount = (spent: number, most: number | null): string =>
    `${dollars(Math.round(spent * 1e9))}${most === null ? '' : ` of ${dollars(most * 1e9)}`}`
  return `${names[period].spent}: ${amount(usd, max_cost)} by all your runs, ${amount(workspace_usd, workspace_max_cost)} in this workspace`
}
