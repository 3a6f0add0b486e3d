import type { Cost, EffectKind, Estimate } from '../event/effects.ts'
import type { Spent } from '../event/meter.ts'
import { amountOf, usdOf, wantedOf } from './ledger.ts'
import { type RecordOf, recordKey } from './record.ts'
import type { RecordSource } from './source.ts'
import { belongsTo, type Location } from './tree.ts'

/** A model call that was started, whatever happened to its place later. */
export interface PaidCall {
  readonly place: string
  /** The usage of each of its tries; empty if its end is unknown. */
  readonly spent: readonly Spent[]
  /** What counts against a budget: if the end is unknown, the estimate, because it may have been paid. */
  readonly cost: Required<Cost>
}

/** Model calls, and programs with a cost estimate: an agent that is a command line calls models itself. */
export function isPaid({ kind, estimate }: { readonly kind: EffectKind; readonly estimate?: unknown }): boolean {
  return kind === 'model' || (kind === 'command' && estimate !== undefined)
}

/** The model calls of a run, collected from its records. */
interface PaidCalls {
  readonly start: (record: RecordOf<'started'>, location: Location) => void
  readonly end: (record: RecordOf<'ended'>, location: Location) => void
  /** The call was never made. */
  readonly withdraw: (record: RecordOf<'suspended'>) => void
  /** Ended calls first. */
  readonly read: (source: RecordSource) => Iterable<PaidCall>
  /** The records of their starts, except damaged ones. */
  readonly starts: (source: RecordSource) => Iterable<RecordOf<'started'>>
}

/** Keeps locations only: a run may have made a million calls. */
export function createPaidCalls(): PaidCalls {
  /** Calls without a recorded end, by epoch and number. */
  const open = new Map<number, Location>()
  /** For each ended call, the locations of its end and its start, which is 0 if the start record was damaged. */
  const ended: Location[] = []
  return {
    start: ({ e, n }, location) => void open.set(recordKey(e, n), location),
    end({ e, s }, location) {
      const key = recordKey(e, s)
      ended.push(location, open.get(key) ?? 0)
      open.delete(key)
    },
    withdraw: ({ e, s = 0 }) => void open.delete(recordKey(e, s)),
    *read(source) {
      for (let index = 0; index < ended.length; index += 2) {
        const [at = 0, start = 0] = ended.slice(index, index + 2)
        const record = source.at(at) as RecordOf<'ended'>
        const started = start === 0 ? undefined : (source.at(start) as RecordOf<'started'>)
        const spent = (source.value(record.spent) ?? []) as readonly Spent[]
        yield { place: record.p, spent, cost: costOf(record.cost, started?.estimate) }
      }
      for (const start of open.values()) {
        const started = source.at(start) as RecordOf<'started'>
        yield { place: started.p, spent: [], cost: costOf(undefined, started.estimate) }
      }
    },
    *starts(source) {
      const locations = [...ended.filter((_, index) => index % 2 === 1), ...open.values()]
      for (const start of locations) if (start !== 0) yield source.at(start) as RecordOf<'started'>
    },
  }
}

/** As a run settles it: missing values are unknown, and count as estimated. */
function costOf({ calls, tokens, usd }: Cost = {}, estimate: Estimate | undefined): Required<Cost> {
  if (calls !== undefined && tokens !== undefined && usd !== undefined) return { calls, tokens, usd }
  const wanted = wantedOf(estimate)
  const most = amountOf(wanted, wanted.output?.tokens ?? 0)
  return { calls: calls ?? most.calls, tokens: tokens ?? most.tokens, usd: usd ?? usdOf(most.nanos) }
}

/** The cost of model calls at and below a place; without a place, of all of them. */
export function costBelow(
  { modelCalls }: { readonly modelCalls: () => Iterable<PaidCall> },
  place?: string,
): Required<Cost> {
  const sum = { calls: 0, tokens: 0, usd: 0 }
  for (const { place: at, cost } of modelCalls()) {
    if (place !== undefined && !belongsTo(at, place)) continue
    sum.calls += cost.calls
    sum.tokens += cost.tokens
    sum.usd += cost.usd
  }
  return sum
}
