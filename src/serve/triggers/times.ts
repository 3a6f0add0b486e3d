import type { Clock } from '../../base/clock.ts'
import type { Trigger, TriggerSource } from '../../config/triggers.ts'
import type { TriggerEvent, TriggerMemory } from './memory.ts'

type CronSource = Extract<TriggerSource, { kind: 'cron' }>

/** Later than this, a time counts as missed. */
const graceMs = 60_000
/** The clock of the machine may be set, or the machine may sleep: how long to wait at most before looking again. */
const longestWaitMs = 30_000
/** What is dealt with cannot be this far ahead, unless the clock was set back. */
const farAheadMs = 3_600_000

/** What to do about the times of a trigger now. */
export type Due =
  | { readonly kind: 'wait'; readonly next: number | undefined }
  | { readonly kind: 'start'; readonly cause: 'cron' | 'missed'; readonly time: number }
  /** Times were missed, which are not made up for. */
  | { readonly kind: 'pass'; readonly time: number }

/** @param until all times up to here are dealt with; like `now` in milliseconds since 1970 */
export function dueNow({ schedule, missed }: CronSource, { until, now }: { until: number; now: number }): Due {
  const first = schedule?.after(until)
  if (schedule === undefined || first === undefined || first > now) return { kind: 'wait', next: first }
  const recent = schedule.after(Math.max(until, now - graceMs - 1))
  if (recent !== undefined && recent <= now) return { kind: 'start', cause: 'cron', time: recent }
  return missed === 'once' ? { kind: 'start', cause: 'missed', time: first } : { kind: 'pass', time: first }
}

/** Changing the expression begins anew. */
function scheduleText({ cron, timeZone }: CronSource): string {
  return `${cron} ${timeZone ?? ''}`
}

/** Up to when the times of a trigger are dealt with. A trigger that is new has missed nothing. */
export function dealtWith(source: CronSource, name: string, memory: TriggerMemory, now: number): number {
  const { schedule, until = now } = memory.of(name)
  return schedule !== scheduleText(source) || until > now + farAheadMs ? now : until
}

export interface TimesOptions {
  readonly triggers: readonly Trigger[]
  readonly memory: TriggerMemory
  readonly fire: (trigger: Trigger, event: TriggerEvent) => void
  readonly clock: Clock
  /** Ends it. */
  readonly signal: AbortSignal
}

/** Fires triggers at their times, by the clock on the wall, until the signal is aborted. Never rejects. */
export async function followTimes({ triggers, memory, fire, clock, signal }: TimesOptions): Promise<void> {
  const timed = triggers.flatMap((trigger) => {
    const { source } = trigger
    return source.kind === 'cron' ? [{ trigger, source }] : []
  })
  if (timed.length === 0) return
  try {
    for (;;) {
      const now = clock.now()
      let wait = longestWaitMs
      for (const { trigger, source } of timed) {
        const { name } = trigger
        const until = dealtWith(source, name, memory, now)
        const due = dueNow(source, { until, now })
        // before it starts: a server that is killed meanwhile must not start it again
        const dealt = due.kind === 'wait' ? until : now
        if (dealt !== memory.of(name).until || memory.of(name).schedule !== scheduleText(source))
          memory.remember(name, { schedule: scheduleText(source), until: dealt })
        const next = due.kind === 'wait' ? due.next : source.schedule?.after(now)
        if (next !== undefined) wait = Math.min(wait, Math.max(1, next - now))
        if (due.kind === 'wait') continue
        const about = new Date(due.time).toISOString()
        if (due.kind === 'start') fire(trigger, { cause: due.cause, about })
        else {
          const message = 'no server followed it at that time'
          memory.remember(name, { last: { at: now, cause: 'missed', about, outcome: 'skipped', message } })
        }
      }
      await clock.sleep(wait, signal)
    }
  } catch {
    // the signal
  }
}
