import { isObject } from '../base/json.ts'
import type { ReplayIndex } from '../journal/replay-index.ts'

/** What the model calls of a recorded run had cost, in US dollars; null when there were some and none has a price. */
export function recordedCost({ entries, source }: ReplayIndex): number | null {
  const costs = [...entries.values()].flatMap(({ ended }): readonly (number | null)[] => {
    const record = ended === undefined ? undefined : source.at(ended)
    if (record?.k !== 'ended' || record.kind !== 'model' || record.used === undefined) return []
    const used = source.value(record.used)
    return [isObject(used) && typeof used['usd'] === 'number' ? used['usd'] : null]
  })
  const known = costs.filter((cost) => cost !== null)
  return costs.length > 0 && known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0)
}
