import { isObject } from '../base/json.ts'
import type { RunView } from './run-view.ts'

/** Changes made in a work tree that were not applied to the workspace. */
export interface UnappliedTree {
  /** The place in the run where the work was done, as text. */
  readonly place: string
  readonly reason: string
  /** In the format of `git apply`, with paths relative to the workspace. */
  readonly diff: string
}

/** The changes of a run that exist only in work trees, one entry per place. */
export function unappliedTrees({ trees, source }: Pick<RunView, 'trees' | 'source'>): readonly UnappliedTree[] {
  const found = new Map<string, UnappliedTree>()
  for (const location of trees) {
    const record = source.at(location)
    const event = record.k === 'show' ? source.value(record.event) : undefined
    if (record.k !== 'show' || !isObject(event)) continue
    // a resumed run may have applied later what was left out before
    if (event['type'] === 'isolation.applied') found.delete(record.p)
    if (event['type'] !== 'isolation.left_out') continue
    const { reason, diff } = event
    if (typeof reason === 'string' && typeof diff === 'string') found.set(record.p, { place: record.p, reason, diff })
  }
  return [...found.values()]
}
