import { resolve } from 'node:path'
import { type GlobSegment, parseGlob } from './glob-pattern.ts'
import { literalGlob } from './literal-glob.ts'

/** The paths that a glob names without wildcards: absolute, and those that it names in any folder. */
export function pathsNamedBy(glob: string, baseDir: string): Readonly<Record<'exact' | 'anywhere', readonly string[]>> {
  const { negated, alternatives } = parseGlob(literalGlob(glob, baseDir))
  const named = negated ? [] : alternatives.flatMap((segments) => namedPath(segments) ?? [])
  const pathsOf = (isAnywhere: boolean): readonly string[] =>
    named.flatMap((one) => (one.isAnywhere === isAnywhere ? [one.path] : []))
  return { exact: pathsOf(false).map((path) => resolve(baseDir, path)), anywhere: pathsOf(true) }
}

export interface NamedPath {
  readonly path: string
  /** It may be in any folder: it starts with `**`. */
  readonly isAnywhere: boolean
}

/** The path that one alternative of a glob names, if it has no other wildcard. */
export function namedPath(segments: readonly GlobSegment[]): NamedPath | undefined {
  const isAnywhere = segments[0]?.kind === 'globstar'
  const names = (isAnywhere ? segments.slice(1) : segments).map((one) =>
    one.kind === 'literal' ? one.text : undefined,
  )
  return names.length === 0 || names.includes(undefined) ? undefined : { path: names.join('/'), isAnywhere }
}
