import { entriesIn } from './entries.ts'
import { statSync, type Dirent } from 'node:fs'
import { resolve, sep } from 'node:path'
import { compareBytes } from './byte-order.ts'
import { BatonError } from './error.ts'
import { isInside, escapingLink, realPath } from './files.ts'
import { isOfSystem } from './system-folders.ts'
import { crossingPatterns, isTooLong, matchSteps, parseGlob, pathSteps, type GlobPattern } from './glob-pattern.ts'
import { literalGlob } from './literal-glob.ts'
import { canContinue, enter, isExcluded, matchedGlob, planWalks, type WalkState } from './glob-walk.ts'
import { finishSteps, type Steps } from './concurrency.ts'

export interface ListedFile {
  /** Relative to the base folder with `/`; absolute if the file is not below it. */
  readonly path: string
  readonly absolute: string
  /** Index of the last glob that matches it. */
  readonly glob: number
}

export interface ListOptions {
  /** Absolute path of the folder that relative globs start from. */
  readonly baseDir: string
  /** Absolute path, links resolved: nothing outside may be listed. */
  readonly root: string
  /** Accepts additional real paths outside `root`. */
  readonly allows?: (real: string) => boolean
  /** Folders skipped unless a glob names them followed by a slash; default: `buildFolders`. */
  readonly skipFolders?: readonly string[]
  /** Called for every folder that is read, whether it exists or not. */
  readonly onFolder?: (absolute: string) => void
}

/** Folders of tools and build results that `**` skips (docs/aipack.md "Globs"). */
export const buildFolders: readonly string[] = ['.aipack', '.git', 'target', 'node_modules', '.build', '__pycache__']

const noFiles = /^(?:\.DS_Store|Thumbs\.db|.*\.swp)$/

/**
 * The files that match any of the globs and none of those with a leading `!`, ordered by the index of the last glob
 * that matches, then by path in byte order (docs/aipack.md "Globs"). A list of only `!` globs excludes from everything.
 * A path that exists is that path, whatever characters it has. Hidden files are included. `**` does not follow links to folders; a glob that names such a link does. Folders that
 * cannot be read are skipped.
 * @throws BatonError OUTSIDE_WORKSPACE if a glob climbs out or a link leads out
 */
export function listFiles(globs: readonly string[], options: ListOptions): ListedFile[] {
  return finishSteps(listSteps(globs, options))
}

/** `listFiles` in steps, one for each folder. */
export function* listSteps(globs: readonly string[], options: ListOptions): Steps<ListedFile[]> {
  const allows = (real: string): boolean =>
    !isOfSystem(real) && (isInside(options.root, real) || options.allows?.(real) === true)
  const baseDir = resolve(options.baseDir).split(sep).join('/')
  const { walks, skipFolders } = planWalks(
    globs.map((glob) => parseGlob(literalGlob(glob, baseDir))),
    baseDir,
    options.skipFolders ?? buildFolders,
  )
  for (const { start, glob } of walks) refuseOutside(start, glob, allows)

  const found = new Map<string, ListedFile>()
  for (const { start, state } of walks) {
    const folders: Folder[] = [{ path: start, state }]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      yield
      options.onFolder?.(folder.path)
      for (const entry of matchesIn(folder, skipFolders)) {
        const { path: absolute, glob, isLink, isEntered } = entry
        if (isLink) refuseLink(absolute, `!${pathFrom(start, absolute)}${isEntered ? '/**' : ''}`, allows)
        if (isEntered) folders.push(entry)
        if (glob === undefined || glob <= (found.get(absolute)?.glob ?? -1)) continue
        found.set(absolute, { path: pathFrom(baseDir, absolute), absolute, glob })
      }
    }
  }
  return [...found.values()].toSorted((a, b) => a.glob - b.glob || compareBytes(a.path, b.path))
}

function refuseOutside(start: string, glob: string, allows: (real: string) => boolean): void {
  if (allows(realPath(start))) return
  const link = escapingLink(start, allows)
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    link === undefined
      ? `the glob "${glob}" starts in ${start}, ${isOfSystem(realPath(start)) ? 'a system folder' : 'which is outside the workspace'}`
      : `the glob "${glob}" leads outside the workspace through the link ${link}`,
    { hint: 'Globs can only match files in the workspace.' },
  )
}

function pathFrom(baseDir: string, absolute: string): string {
  const prefix = baseDir.endsWith('/') ? baseDir : `${baseDir}/`
  return absolute.startsWith(prefix) ? absolute.slice(prefix.length) : absolute
}

interface Folder {
  readonly path: string
  readonly state: WalkState
}

interface Entry extends Folder {
  /** Index of the last glob that matches it. */
  readonly glob: number | undefined
  readonly isLink: boolean
  readonly isEntered: boolean
}

/** The files of a folder that match, and the folders in it that may have matches. */
function matchesIn(folder: Folder, skipFolders: ReadonlySet<string>): readonly Entry[] {
  return entriesIn(folder.path).flatMap((entry) => {
    const path = folder.path === '/' ? `/${entry.name}` : `${folder.path}/${entry.name}`
    const kind = kindOf(entry, path)
    const isLink = entry.isSymbolicLink()
    const state = enter(folder.state, entry.name, { literally: kind === 'folder' && isLink })
    if (kind === 'other' || isExcluded(state, kind)) return []
    const glob = kind === 'file' && !noFiles.test(entry.name) ? matchedGlob(state) : undefined
    const isEntered = kind === 'folder' && !skipFolders.has(entry.name) && canContinue(state) && !isOfSystem(path)
    return glob === undefined && !isEntered ? [] : [{ path, state, glob, isLink, isEntered }]
  })
}

function refuseLink(link: string, exclusion: string, allows: (real: string) => boolean): void {
  if (allows(realPath(link))) return
  throw new BatonError('OUTSIDE_WORKSPACE', `a glob leads outside the workspace through the link ${link}`, {
    hint: `Exclude it with the glob "${exclusion}".`,
  })
}

/** Follows links; broken ones are `other`. */
function kindOf(entry: Dirent, path: string): 'file' | 'folder' | 'other' {
  try {
    const target = entry.isSymbolicLink() ? statSync(path) : entry
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'other'
  } catch {
    return 'other'
  }
}

export interface GlobMatcher {
  /**
   * True if some glob matches the path and none with a leading `!` does. Paths of more than 8192 characters never
   * match.
   */
  readonly matches: (path: string) => boolean
}

/** Parses globs for matching many paths. Paths are compared as text, without looking at the disk. */
export function compileGlobs(globs: readonly string[]): GlobMatcher {
  const patterns = globs.map(parseGlob)
  const unwanted = patterns.filter((pattern) => pattern.negated)
  const wanted = patterns.filter((pattern) => !pattern.negated)
  const hits = (pattern: GlobPattern, steps: readonly string[]): boolean =>
    pattern.alternatives.some((segments) => matchSteps(segments, steps))
  return {
    matches(path) {
      if (isTooLong(path)) return false
      const steps = lastSteps(path)
      if (unwanted.some((pattern) => hits(pattern, steps))) return false
      return wanted.length === 0 ? patterns.length > 0 : wanted.some((pattern) => hits(pattern, steps))
    },
  }
}

let last: { readonly path: string; readonly steps: readonly string[] } = { path: '', steps: [] }

/** The names of a path, cached because many globs are matched against the same path in a row. */
function lastSteps(path: string): readonly string[] {
  if (last.path !== path) last = { path, steps: pathSteps(path) }
  return last.steps
}

/**
 * The position of a path in an order of globs: the index of the first or last one that matches, or -1. Here wildcards
 * match `/`, and `!` excludes nothing (docs/aipack.md "Globs").
 */
export function globOrder(globs: readonly string[]): (path: string, which: 'first' | 'last') => number {
  const patterns = globs.map(crossingPatterns)
  return (path, which) => {
    const named = path.replace(/^\.\//, '')
    const hit = (alternatives: readonly RegExp[]): boolean => alternatives.some((pattern) => pattern.test(named))
    return which === 'first' ? patterns.findIndex(hit) : patterns.findLastIndex(hit)
  }
}
