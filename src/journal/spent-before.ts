import { isObject } from '../base/json.ts'
import type { MeteredCall } from '../event/context.ts'
import type { Cost, Estimate } from '../event/effects.ts'
import { amountOf, usdOf, wantedOf } from './ledger.ts'
import type { JournalRecord } from './record.ts'
import { isAround } from './place-tree.ts'
import type { RunIndex } from './run-index.ts'

export interface SpentBefore {
  /** The model calls that were answered, in order. */
  readonly calls: readonly MeteredCall[]
  /** What counts as spent. */
  readonly spent: Required<Cost>
}

/**
 * What older epochs of a run have paid for. A call whose end is not known, or that failed at a cost nobody knows, counts
 * as much as was estimated, because it may have been paid for (spec/engines.md I6). `below`: only calls of this place.
 */
export function spentBefore({ modelCalls, source }: RunIndex, below?: string): SpentBefore {
  const calls: MeteredCall[] = []
  const spent = { calls: 0, tokens: 0, usd: 0 }
  for (const { ended, started } of modelCalls()) {
    if (below !== undefined && !isAround(below, ended?.p ?? started()?.p ?? '')) continue
    const call = ended && meteredCall(source.value(ended.used))
    if (call !== undefined) calls.push(call)
    const { tokens, usd, calls: count } = costOf(ended, () => started()?.estimate)
    spent.calls += count
    spent.tokens += tokens
    spent.usd += usd
  }
  return { calls, spent }
}

function meteredCall(used: unknown): MeteredCall | undefined {
  if (!isObject(used)) return undefined
  return {
    model: String(used['model']),
    usage: used['usage'] as MeteredCall['usage'],
    costUsd: used['usd'] as number | null,
  }
}

type Ended = Extract<JournalRecord, { readonly k: 'ended' }>

/** As a run settles it: of what is left out nobody knows. */
function costOf(ended: Ended | undefined, estimate: () => Estimate | undefined): Required<Cost> {
  const { calls, tokens, usd } = ended?.cost ?? {}
  if (calls !== undefined && tokens !== undefined && usd !== undefined) return { calls, tokens, usd }
  const wanted = wantedOf(estimate())
  const most = amountOf(wanted, wanted.output?.tokens ?? 0)
  return { calls: calls ?? most.calls, tokens: tokens ?? most.tokens, usd: usd ?? usdOf(most.nanos) }
}
