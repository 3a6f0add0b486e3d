import { noUsage } from '../../src/event/message.ts'
import type { IterateSettings } from '../../src/settings/strategies/iterate.ts'
import type { IterationRecord } from '../../src/strategies/iterate/records.ts'

/** The record of an iteration that took a second and changed nothing, except for the given fields. */
export function madeRecord(iteration: number, given: Partial<IterationRecord> = {}): IterationRecord {
  return {
    iteration,
    success: true,
    changed_files: [],
    summary: `did ${iteration}`,
    timestamp: '2026-01-01T00:00:00.000Z',
    elapsed_ms: 1000,
    tokens_used: 0,
    usage: noUsage,
    cost_usd: 0,
    ...given,
  }
}

/** The settings of `[iterate]` with the defaults of their table, with nothing that ends it. */
export function iterateSettings(given: Partial<IterateSettings> = {}): IterateSettings {
  return {
    context: true,
    assessment: false,
    commits: 'auto',
    summarizer: 'files',
    on_dirty: 'abort',
    score_best: 'highest',
    condition: undefined,
    command_timeout_ms: 60_000,
    ...given,
  }
}
