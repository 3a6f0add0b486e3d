import type { KnownPlaces } from './known-places.ts'
import { sameName } from './names.ts'

export interface KnownPlace {
  /** As in `[permission]`: a glob. */
  readonly pattern: string
  readonly isHome: boolean
  /** Its names from the home folder, or from any folder. */
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
  return { pattern, isHome, isFolder, steps: inner.split('/') }
}

/** Finds known places in paths, without regard to case, as some file systems compare names. */
export interface PlaceMatcher {
  /** The first place that a path (its names, from anywhere or from the home folder) is, or is in. */
  readonly find: (steps: readonly string[]) => KnownPlace | undefined
  /** Whether a place may have this last name: a quick test for many names. */
  readonly mayEndIn: (name: string) => boolean
}

/** `places` is called when it first looks for one. `anchored`: places start with the first name. */
export function createPlaceMatcher(places: () => readonly KnownPlace[], { anchored = false } = {}): PlaceMatcher {
  let index: PlaceIndex | undefined
  // hundreds of places, and most runs look for none
  const indexed = (): PlaceIndex => (index ??= indexOf(places()))
  const isAt = ({ place: { isFolder }, tests }: Compiled, names: readonly string[], end: number): boolean =>
    (isFolder || end === names.length - 1) &&
    (anchored ? end + 1 === tests.length : end + 1 >= tests.length) &&
    tests.every((test, at) => test(names[end + 1 - tests.length + at] ?? ''))
  return {
    find(given) {
      const { exact, wild } = indexed()
      const names = given.map(sameStep)
      for (const [end, name] of names.entries()) {
        const found =
          exact.get(name)?.find((place) => isAt(place, names, end)) ?? wild.find((place) => isAt(place, names, end))
        if (found !== undefined) return found.place
      }
      return undefined
    },
    mayEndIn(given) {
      const { exact, wild } = indexed()
      const name = sameStep(given)
      return exact.has(name) || wild.some(({ tests }) => tests.at(-1)?.(name) === true)
    },
  }
}

interface Compiled {
  readonly place: KnownPlace
  readonly tests: readonly ((name: string) => boolean)[]
}

interface PlaceIndex {
  /** By their last name. */
  readonly exact: ReadonlyMap<string, readonly Compiled[]>
  /** Whose last name is a pattern. */
  readonly wild: readonly Compiled[]
}

function indexOf(places: readonly KnownPlace[]): PlaceIndex {
  const exact = new Map<string, Compiled[]>()
  const wild: Compiled[] = []
  for (const place of places) {
    const steps = place.steps.map(sameName)
    const tests = steps.map(nameTest)
    const last = steps.at(-1) ?? ''
    if (last.includes('*')) wild.push({ place, tests })
    else exact.set(last, [...(exact.get(last) ?? []), { place, tests }])
  }
  return { exact, wild }
}

const plain = /^[!-~ ]*$/

/** `sameName`, faster for the usual names. */
function sameStep(name: string): string {
  return plain.test(name) ? name.toLowerCase() : sameName(name)
}

/** `*` stands for any characters; a place has at most two. */
function nameTest(pattern: string): (name: string) => boolean {
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.at(-1)
  if (end === undefined) return (name) => name === start
  const [middle = ''] = rest.length > 1 ? rest : []
  return (name) =>
    name.length >= start.length + end.length &&
    name.startsWith(start) &&
    name.endsWith(end) &&
    name.slice(start.length, name.length - end.length).includes(middle)
}
