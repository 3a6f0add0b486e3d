import { statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { parseGlob } from '../base/glob-pattern.ts'
import { literalGlob } from '../base/literal-glob.ts'
import { namedPath, type NamedPath, pathsNamedBy } from '../base/named-paths.ts'
import { nearestPath } from '../base/real-name.ts'
import type { JsonObject } from '../base/json.ts'
import { exactGlobs } from '../config/trust.ts'
import { keyPatternOf } from '../tool/protected/key-places.ts'
import { irregular } from '../base/regular-file.ts'

/** A path without wildcards that a list of globs names, but of which no run reads a file. */
export interface NamedProblem {
  /** `odd`: a pipe, socket or device. */
  readonly kind: 'missing' | 'folder' | 'odd'
  /** A sentence. */
  readonly message: string
  readonly hint: string
}

interface NamedOptions {
  readonly baseDir: string
  readonly found: readonly string[]
  readonly isGiven: boolean
}

/**
 * Why the paths among the globs are not files. `baseDir` is the folder that the globs start from, `found` the files that
 * they match (absolute). `isGiven`: for `-f`, where `**` + `/` stands before a path that may be in any folder.
 */
export function namedProblems(
  globs: readonly string[],
  { baseDir, found, isGiven }: NamedOptions,
): readonly NamedProblem[] {
  return globs.flatMap((glob) => {
    const { path, isAnywhere } = pathOf(literalGlob(glob, baseDir)) ?? {}
    if (path === undefined || (isAnywhere === true && found.some((file) => file.endsWith(`/${path}`)))) return []
    const problem = problemOf(path, baseDir)
    return problem === undefined || (isAnywhere === true && !isGiven && problem.kind !== 'odd') ? [] : [problem]
  })
}

/**
 * By key of a settings file, the globs that name a place of keys exactly: only a trusted file sends it unasked. Only
 * names count, so it is the same for any state of the disk: not for a link of another name, and for a file that does
 * not exist yet.
 */
export function keyGlobsIn(data: JsonObject, workspace: string): readonly (readonly [string, readonly string[]])[] {
  const baseDir = resolve(workspace, typeof data['base_dir'] === 'string' ? data['base_dir'] : '.')
  return exactGlobs(data).flatMap(([key, globs]) => {
    const naming = globs.filter((glob) =>
      pathsNamedBy(glob, baseDir).exact.some((path) => keyPatternOf(path, workspace) !== undefined),
    )
    return naming.length === 0 ? [] : [[key, naming] as const]
  })
}

/** The only path that a glob names. */
function pathOf(glob: string): NamedPath | undefined {
  const { negated, alternatives } = parseGlob(glob)
  const [segments = [], ...others] = alternatives
  return negated || others.length > 0 ? undefined : namedPath(segments)
}

function problemOf(path: string, baseDir: string): NamedProblem | undefined {
  const absolute = resolve(baseDir, path)
  const status = statusOf(absolute)
  if (status === undefined) {
    const near = nearestPath(absolute)
    const hint = near === undefined ? `Paths start in ${baseDir}.` : `Did you mean ${relative(baseDir, near)}?`
    return { kind: 'missing', message: `there is no file ${path}`, hint }
  }
  if (status.isDirectory()) {
    return { kind: 'folder', message: `${path} is a folder`, hint: `Write ${path}/** for the files in it.` }
  }
  const other = irregular(status)
  return other === undefined ? undefined : { kind: 'odd', message: `${path} ${other}`, hint: 'Name a regular file.' }
}

/** Undefined also for a link that leads nowhere, and for what cannot be looked at. */
function statusOf(path: string) {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
