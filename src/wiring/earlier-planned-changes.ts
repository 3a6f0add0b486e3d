import { isObject } from '../base/json.ts'
import type { OverlayChange } from '../event/overlay.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import { isFinished, type Location, type PlaceTree } from '../journal/tree.ts'

/**
 * The file changes that the older epochs of a run without changes have planned, in order, except what is to be
 * repeated. Scans the record a second time, because the index of a resumed run keeps nothing of finished parts.
 */
export async function earlierPlannedChanges({ tree, source }: RunIndex): Promise<readonly OverlayChange[]> {
  const found: { readonly place: string; readonly location: Location }[] = []
  await source.scan((record, location) => {
    if (record.k === 'obs' && record.name === 'file_changes') found.push({ place: record.p, location })
  })
  if (found.length === 0) return []
  const { tree: whole } = await indexRun(source, { keeps: 'everything', repair: 'skip' })
  return found
    .filter(
      ({ place, location }) =>
        holds(tree, place, location) || (isFinished(tree, place) && holds(whole, place, location)),
    )
    .flatMap(({ location }) => {
      const record = source.at(location)
      return record.k === 'obs' && record.status === 'ok' ? changesIn(source.value(record.value)) : []
    })
}

function holds(tree: PlaceTree, place: string, location: Location): boolean {
  return tree.find(place)?.answer === location
}

/** The plan of an answer, or of a tool call. */
function changesIn(plan: unknown): readonly OverlayChange[] {
  if (!isObject(plan)) return []
  const { overlay, kind, dry, path, after } = plan
  if (Array.isArray(overlay)) return overlay as readonly OverlayChange[]
  if (kind !== 'ready' || dry === undefined) return []
  return typeof path === 'string' && typeof after === 'string' ? [{ op: 'write', path, hash: after }] : []
}
