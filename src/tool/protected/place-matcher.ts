import type { KnownPlaces } from './known-places.ts'
import { sameName } from './names.ts'

/** One place of the list of known places. */
export interface KnownPlace {
  /** As in `[permission]`: a glob. */
  readonly pattern: string
  readonly isHome: boolean
  /** Its names from the home folder, or from any folder. Folded by `sameName`. */
  readonly steps: readonly string[]
  /** A folder with everything in it. */
  readonly isFolder: boolean
}

/** Parses the places of a list. */
export function placesIn(rows: readonly KnownPlaces[]): readonly KnownPlace[] {
  return rows.flatMap(({ places }) => places.split(' ').map(readPlace))
}

function readPlace(written: string): KnownPlace {
  const isHome = written.startsWith('~/')
  const isFolder = written.endsWith('/')
  const inner = written.slice(isHome ? 2 : 0, isFolder ? -1 : undefined)
  const pattern = `${isHome ? '~/' : '**/'}${inner}${isFolder ? '/**' : ''}`
  return { pattern, isHome, isFolder, steps: inner.split('/').map(sameName) }
}

/** The first place that a path (its names, from anywhere or from the home folder) is, or is in. */
export type PlaceMatcher = (steps: readonly string[]) => KnownPlace | undefined

/** Compares without regard to case, as some file systems do. `anchored`: places start with the first name. */
export function createPlaceMatcher(places: readonly KnownPlace[], { anchored = false } = {}): PlaceMatcher {
  const exact = new Map<string, KnownPlace[]>()
  const wild: KnownPlace[] = []
  for (const place of places) {
    const last = place.steps.at(-1) ?? ''
    if (last.includes('*')) wild.push(place)
    else exact.set(last, [...(exact.get(last) ?? []), place])
  }
  const isAt = ({ steps, isFolder }: KnownPlace, names: readonly string[], end: number): boolean =>
    (isFolder || end === names.length - 1) &&
    (anchored ? end + 1 === steps.length : end + 1 >= steps.length) &&
    steps.every((step, at) => isName(step, names[end + 1 - steps.length + at] ?? ''))
  return (given) => {
    const names = given.map(sameStep)
    for (const [end, name] of names.entries()) {
      const found =
        exact.get(name)?.find((place) => isAt(place, names, end)) ?? wild.find((place) => isAt(place, names, end))
      if (found !== undefined) return found
    }
    return undefined
  }
}

const plain = /^[!-~ ]*$/

/** `sameName`, faster for the usual names. */
function sameStep(name: string): string {
  return plain.test(name) ? name.toLowerCase() : sameName(name)
}

/** `*` stands for any characters; a place has at most two. */
function isName(pattern: string, name: string): boolean {
  const [start = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return start === name
  const end = rest.at(-1) ?? ''
  if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end)) return false
  const [middle] = rest.length > 1 ? rest : []
  return middle === undefined || name.slice(start.length, name.length - end.length).includes(middle)
}
