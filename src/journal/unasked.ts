import { isObject } from '../base/json.ts'
import type { RunIndex } from './run-index.ts'
import type { Location } from './tree.ts'

/** Effects that ended by themselves and that nothing has asked for. */
export function unasked(
  { tree, source }: RunIndex,
  answered: ReadonlySet<Location>,
): readonly { readonly place: string; readonly started: Location }[] {
  const found: { readonly place: string; readonly started: Location }[] = []
  /** Where models were asked for servers: what a server made of it is in the end of its call. */
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

/** Members are not asked in a replay whose answers did not count: another one was taken before they had ended. */
function wasStopped(done: Location | undefined, source: RunIndex['source']): boolean {
  const record = done === undefined ? undefined : source.at(done)
  const value = record?.k === 'done' ? source.value(record.value) : undefined
  return record === undefined || (isObject(value) && value['status'] === 'stopped')
}

/** What a person reads below the `====` line is written by runs, not by replays. */
function isTranscript(place: string): boolean {
  return place.startsWith('transcript/')
}
