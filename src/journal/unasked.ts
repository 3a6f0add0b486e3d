import { isObject } from '../base/json.ts'
import type { RunIndex } from './run-index.ts'
import type { Location } from './tree.ts'

/** Recorded effects that ended normally and that nothing in the replay has requested. */
export function unasked(
  { tree, source }: RunIndex,
  answered: ReadonlySet<Location>,
): readonly { readonly place: string; readonly started: Location }[] {
  const found: { readonly place: string; readonly started: Location }[] = []
  /** Places of model calls that servers requested: what a server made of the answer is in the end of its call. */
  const sampled: string[] = []
  tree.visit(({ started, ended, begin, done }, place) => {
    if (begin !== undefined && isMember(place) && wasStopped(done, source)) return 'skip'
    const end = ended === undefined ? undefined : source.at(ended)
    const isEnded = end?.k === 'ended' && end.status !== 'cancelled'
    if (started === undefined || !isEnded || isTranscript(place)) return undefined
    if (!answered.has(started)) found.push({ place, started })
    else if (end.kind === 'mcp') sampled.push(`${place}/sampling/`)
    return undefined
  })
  return found.filter(({ place }) => !sampled.some((below) => place.startsWith(below)))
}

/** A member of an ensemble. */
function isMember(place: string): boolean {
  return /(?:^|\/)member\/[^/]+$/.test(place)
}

/** A replay does not call members whose answers did not count because another one was taken first. */
function wasStopped(done: Location | undefined, source: RunIndex['source']): boolean {
  const record = done === undefined ? undefined : source.at(done)
  const value = record?.k === 'done' ? source.value(record.value) : undefined
  return record === undefined || (isObject(value) && value['status'] === 'stopped')
}

/** The answers below the `====` line are written by runs, not by replays. */
function isTranscript(place: string): boolean {
  return place.startsWith('transcript/')
}
