import { isObject } from '../base/json.ts'
import type { OverlayChange } from '../event/overlay.ts'
import { indexRun, type RunIndex } from './run-index.ts'
import { noMask } from './secrets.ts'
import { openFileRecords } from './source.ts'
import { isFinished, type Location, type PlaceTree } from './tree.ts'

/**
 * The file changes that the older epochs of a run without changes have planned, in order, except what is to be
 * repeated. Scans the record a second time, because the index of a resumed run keeps nothing of finished parts.
 */
export async function plannedChanges(index: RunIndex): Promise<readonly OverlayChange[]> {
  return (await plans(index)).flatMap(changesIn)
}

/** What the dry run in a folder has planned, as unified diffs, in order. Secrets stay masked. */
export async function plannedDiffs(folder: string): Promise<readonly string[]> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    return (await plans(await indexRun(source, { keeps: 'everything', repair: 'skip' }))).flatMap(diffsIn)
  } finally {
    source.close()
  }
}

async function plans({ tree, source }: RunIndex): Promise<readonly unknown[]> {
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
      return record.k === 'obs' && record.status === 'ok' ? [source.value(record.value) as unknown] : []
    })
}

function holds(tree: PlaceTree, place: string, location: Location): boolean {
  return tree.find(place)?.answer === location
}

/** The plan of an answer, or of a tool call. */
function changesIn(plan: unknown): readonly OverlayChange[] {
  if (!isObject(plan)) return []
  const { overlay, kind, dry, path, after, over } = plan
  if (Array.isArray(overlay)) return overlay as readonly OverlayChange[]
  if (kind !== 'ready' || dry === undefined) return []
  return typeof path === 'string' && typeof after === 'string'
    ? [{ op: 'write', path, hash: after, ...((typeof over === 'string' || over === null) && { over }) }]
    : []
}

function diffsIn(plan: unknown): readonly string[] {
  if (!isObject(plan)) return []
  const { overlay, changes, dry } = plan
  const shown: readonly unknown[] = Array.isArray(overlay) && Array.isArray(changes) ? changes : [dry]
  return shown.flatMap((one) => (isObject(one) && typeof one['diff'] === 'string' ? [one['diff']] : []))
}
