import type { RunIndex } from './run-index.ts'
import type { Location } from './tree.ts'

/** Effects that ended by themselves and that nothing has asked for. */
export function unasked(
  { tree, source }: RunIndex,
  answered: ReadonlySet<Location>,
): readonly { readonly place: string; readonly started: Location }[] {
  const found: { readonly place: string; readonly started: Location }[] = []
  tree.visit(({ started, ended }, place) => {
    const end = ended === undefined ? undefined : source.at(ended)
    const isEnded = end?.k === 'ended' && end.status !== 'cancelled'
    if (started !== undefined && isEnded && !answered.has(started) && !isTranscript(place)) {
      found.push({ place, started })
    }
    return undefined
  })
  return found
}

/** What a person reads below the `====` line is written by runs, not by replays. */
function isTranscript(place: string): boolean {
  return place.startsWith('transcript/')
}
