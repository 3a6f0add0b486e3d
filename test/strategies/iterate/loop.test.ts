import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/base/json.ts'
import type { IterateSettings } from '../../../src/settings/strategies/iterate.ts'
import { noUsage } from '../../../src/event/message.ts'
import type { Keeper } from '../../../src/strategies/iterate/keeper.ts'
import { iterate, type IterationWork } from '../../../src/strategies/iterate/loop.ts'
import { endedFailing, type IterationRecord, neverMet } from '../../../src/strategies/iterate/records.ts'
import { filesSummary } from '../../../src/strategies/iterate/summarize.ts'
import { testContext, type TestContext } from '../../helpers/context.ts'
import { iterateSettings } from '../../helpers/iteration.ts'

interface Given {
  readonly settings?: Partial<IterateSettings>
  /** What iterations do, one after the other; the last entry is repeated. */
  readonly works?: readonly Partial<IterationWork<string> & { readonly seconds: number }>[]
  readonly onEvent?: (type: string, commits: readonly string[]) => void
  readonly dry?: 'req'
  readonly isOver?: (outcome: string) => boolean
}

/** Iterates with a clock that only work advances, and a keeper that commits every change. */
async function iterated({ settings = {}, works = [{}], onEvent, dry, isOver = () => false }: Given) {
  let now = 0
  const waits: number[] = []
  const clock = {
    async sleep(ms: number) {
      waits.push(ms)
      now += ms
    },
    startStopwatch() {
      const begun = now
      return { elapsedMs: () => now - begun, end: () => undefined }
    },
  }
  const commits: string[] = []
  const prompts: number[] = []
  const restored: number[] = []
  const keeper: Keeper = {
    commits: true,
    start: async () => ({ head: 'base', state: 'start' }),
    begin: async () => {},
    changed: async (known) => known,
    async keep({ iteration, changed_files }) {
      if (changed_files.length === 0) return { changed_files, ...defined({ state: commits.at(-1) }) }
      commits.push(`commit of ${iteration}`)
      return { changed_files, commit_id: `commit of ${iteration}`, state: `commit of ${iteration}` }
    },
    restore: async ({ iteration }) => void restored.push(iteration),
  }
  const base = testContext({
    ...(dry === undefined ? {} : { scope: { dry } }),
    services: { now: () => new Date(now), clock },
  })
  const events: TestContext['services']['events'] = (place, event) => {
    onEvent?.(event.type, commits)
    base.services.events(place, event)
  }
  const context = { ...base, services: { ...base.services, events } }
  const { outcome, result } = await iterate<string>(
    {
      settings: iterateSettings(settings),
      prompt: 'the task',
      assessment: undefined,
      plan: undefined,
      async work({ facts }) {
        prompts.push(now / 1000)
        const { seconds = 1, ...work } = works[facts.iteration] ?? works.at(-1) ?? {}
        now += seconds * 1000
        const spent = { model: 'm', usage: { ...noUsage, calls: 1, input: 10, output: 2 }, costUsd: 0.25 }
        return { outcome: `outcome ${facts.iteration}`, success: true, answers: [], spent, changed: [], ...work }
      },
      isOver,
      summarize: async (_, done) => ({
        text: filesSummary(done),
        spent: { model: 's', usage: { ...noUsage, calls: 1, output: 1 }, costUsd: 0.5 },
      }),
      keeper,
    },
    context,
  )
  return { outcome, result, started: prompts, sent: base.sent, restored, waits }
}

const count = (given: number) => ({ condition: { kind: 'count', count: given } }) as const
const seconds = (given: number) => ({ condition: { kind: 'duration', seconds: given } }) as const

describe('iterating', () => {
  it('continues after a failed iteration', async () => {
    const works = [{}, { success: false }, { changed: ['a.ts'] }]
    const { result, outcome } = await iterated({ settings: count(3), works })
    expect(result).toMatchObject({
      iterations_attempted: 3,
      iterations_succeeded: 2,
      iterations_failed: 1,
      stop_reason: 'completed',
      // a second of waiting after the failure
      elapsed_seconds: 4,
      total_tokens: 39,
    })
    expect(result.records).toMatchObject([
      { iteration: 0, success: true, summary: 'Iteration 0 succeeded with no file changes.', tokens_used: 13 },
      { iteration: 1, success: false, summary: 'Iteration 1 failed with no file changes.', cost_usd: 0.75 },
      {
        iteration: 2,
        success: true,
        summary: 'Iteration 2 succeeded. Modified 1 file(s): 1 .ts file(s).',
        commit_id: 'commit of 2',
        changed_files: ['a.ts'],
        timestamp: '1970-01-01T00:00:04.000Z',
        elapsed_ms: 2000,
        usage: { calls: 2, input: 10, output: 3 },
      },
    ])
    expect(result.records[0]).not.toHaveProperty('commit_id')
    expect(outcome).toBe('outcome 2')
  })

  it('waits longer after each consecutive failure, within its time, and continues after a success', async () => {
    const failed = { success: false, error: 'the host is gone' }
    const works = [failed, failed, failed, failed, { changed: ['a'] }, failed, {}, {}, {}]
    const { result, waits } = await iterated({ settings: seconds(3_600), works })
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 1_000])
    expect(result).toMatchObject({ stop_reason: 'stalled', iterations_attempted: 9, iterations_failed: 5 })
    expect(result.elapsed_seconds).toBe(9 + 16)
    expect(result.records[0]).toMatchObject({ error: 'the host is gone' })
  })

  it('ends after too many consecutive failures, with their own reason', async () => {
    const { result } = await iterated({ settings: seconds(3_600), works: [{}, { success: false, error: 'refused' }] })
    expect(result).toMatchObject({ stop_reason: 'failing', iterations_attempted: 6 })
    expect(endedFailing(result, 'RUN')).toMatchObject({
      message: 'stopped: the last 5 iterations failed: refused',
      hint: 'Once the cause is gone, continue with baton resume RUN --from 1.',
    })
  })

  it('names the failure of its last iterations at every end, also if a command was waited for', async () => {
    const failed = { success: false, error: 'refused' }
    const { result } = await iterated({ settings: count(3), works: [{}, failed] })
    expect(result.stop_reason).toBe('completed')
    expect(endedFailing(result, 'RUN')).toMatchObject({
      message: 'the last 2 iterations failed: refused',
      hint: 'Once the cause is gone, continue with baton resume RUN --from 1.',
    })
    expect(neverMet(result, 'RUN').message).toBe(
      'the command of "until" has not exited with 0 after 3 iterations; the last 2 iterations failed: refused',
    )
    const unmetWith = (check: string): string => {
      const records = [{ ...result.records[0], success: true, check } as IterationRecord]
      return neverMet({ ...result, records, iterations_attempted: 1 }, 'RUN').message
    }
    const unmet = 'the command of "until" has not exited with 0 after one iteration'
    expect(unmetWith('nmp test: exit code 127\nsh: 1: nmp: not found\n')).toBe(
      `${unmet}: it cannot be run (exit code 127): sh: 1: nmp: not found`,
    )
    expect(unmetWith('npm test: exit code 1\nsh of a test: exit code 127\nnot found\n')).toBe(unmet)
    const { result: mended } = await iterated({ settings: count(2), works: [failed, {}] })
    expect(endedFailing(mended, 'RUN')).toBeUndefined()
  })

  it('starts no iteration when the time is up, but lets one overrun', async () => {
    const settings = { ...seconds(100), stall: 0 }
    const { result, started } = await iterated({ settings, works: [{ seconds: 40 }] })
    expect(started).toEqual([0, 40, 80])
    expect(result).toMatchObject({ iterations_attempted: 3, elapsed_seconds: 120, stop_reason: 'duration_elapsed' })
    const short = await iterated({ settings: seconds(10), works: [{ seconds: 40 }] })
    expect(short.result).toMatchObject({ iterations_attempted: 1, stop_reason: 'duration_elapsed' })
  })

  it('sends its events in order, each commit before the end of its iteration', async () => {
    const order: string[] = []
    const { sent } = await iterated({
      settings: count(2),
      works: [{ changed: ['a'] }],
      onEvent: (type, commits) => order.push(`${type} (${commits.length})`),
    })
    expect(order).toEqual([
      'iterate.started (0)',
      'iteration.started (0)',
      'iteration.completed (1)',
      'iterate.progress (1)',
      'iteration.started (1)',
      'iteration.completed (2)',
      'iterate.progress (2)',
      'iterate.completed (2)',
    ])
    expect(sent[0]).toMatchObject({ condition: '2 iterations', initial_prompt: 'the task', max_iterations: 2 })
    expect(sent[1]).toMatchObject({ iteration: 0, count: 2, agent: 'iteration/0' })
    expect(sent[2]).toMatchObject({
      iteration: 0,
      success: true,
      summary: 'Iteration 0 succeeded. Modified 1 file(s): 1 other file(s).',
      commit_id: 'commit of 0',
      tokens_used: 13,
      cost_usd: 0.75,
      changed_files: ['a'],
    })
    expect(sent[6]).toMatchObject({ progress: { iteration: 2, succeeded: 2, failed: 0, elapsed_seconds: 2 } })
    expect(sent[7]).toMatchObject({ result: { iterations_attempted: 2, records: [{}, {}] } })
  })

  it('ends when it stalls, and when there is nothing to work on', async () => {
    const quiet = await iterated({ settings: seconds(1e6) })
    expect(quiet.result).toMatchObject({ iterations_attempted: 3, stop_reason: 'stalled' })
    const over = await iterated({ settings: count(5), isOver: (outcome) => outcome === 'outcome 1' })
    expect(over.result).toMatchObject({ iterations_attempted: 2, stop_reason: 'completed' })
  })

  it('runs once in a dry run, and keeps nothing', async () => {
    const { result } = await iterated({ settings: { ...count(5), until: 'false', score: 'false' }, dry: 'req' })
    expect(result).toMatchObject({ iterations_attempted: 1, stop_reason: 'completed' })
    expect(result).not.toHaveProperty('until_met')
    expect(result.records[0]).not.toHaveProperty('commit_id')
  })
})
