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
  tree.visit(({ started, ended }, place) => {
    const end = ended === undefined ? undefined : source.at(ended)
    const isEnded = end?.k === 'ended' && end.status !== 'cancelled'
    if (started === undefined || !isEnded || isTranscript(place)) return undefined
    if (!answered.has(started)) found.push({ place, started })
    else if (end.kind === 'mcp') sampled.push(`${place}/sampling/`)
    return undefined
  })
  return found.filter(({ place }) => !sampled.some((below) => place.startsWith(below)))
}

/** What a person reads below the `====` line is written by runs, not by replays. */
function isTranscript(place: string): boolean {
  return place.startsWith('transcript/')
}
