import { relative, sep } from 'node:path'
import { isInside } from '../../base/files.ts'
import { homeFolder } from '../../base/home.ts'
import { keyPlaces } from './known-places.ts'
import { createPlaceMatcher, type KnownPlace, placesIn } from './place-matcher.ts'

const places = placesIn(keyPlaces)

/** The places that hold keys, as globs of `[permission]`. */
export const keyPatterns: readonly string[] = [...new Set(places.map(({ pattern }) => pattern))]

/** Those in a home folder. */
export const keysInHome: readonly KnownPlace[] = places.filter(({ isHome }) => isHome)
/** Those in any folder. */
export const keysAnywhere: readonly KnownPlace[] = places.filter(({ isHome }) => !isHome)

const atHome = createPlaceMatcher(() => keysInHome, { anchored: true })
const anywhere = createPlaceMatcher(() => keysAnywhere)

/** They document the variables of the file that holds the keys. */
const example = /^\.(?:env|dev\.vars).*[._-](?:example|sample|template|dist|defaults?)$/i

/**
 * The glob of the place that a path (absolute) is, or is in, if keys are kept there; undefined if not. Names count in
 * any case. A place in the home folder that holds the workspace itself does not count.
 */
export function keyPatternOf(path: string, workspace: string): string | undefined {
  // folders above the workspace say nothing about its files
  const steps = (isInside(workspace, path) ? relative(workspace, path) : path).split(sep)
  const found = anywhere.find(steps)
  if (found !== undefined && !isExample(found, steps)) return found.pattern
  const home = homeFolder()
  if (!isInside(home, path)) return undefined
  const below = relative(home, path).split(sep)
  const own = atHome.find(below)
  if (own === undefined) return undefined
  const place = [home, ...below.slice(0, own.steps.length)].join(sep)
  return isInside(place, workspace) ? undefined : own.pattern
}

/** Whether a path with this last name may be such a place, if no folder above it is: a quick test for many files. */
export function mayHoldKeys(name: string): boolean {
  return anywhere.mayEndIn(name) || atHome.mayEndIn(name)
}

function isExample({ isFolder }: KnownPlace, steps: readonly string[]): boolean {
  return !isFolder && example.test(steps.at(-1) ?? '')
}
