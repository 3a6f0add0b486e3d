import { readdirSync, statSync, type Dirent } from 'node:fs'
import { resolve, sep } from 'node:path'
import { compareBytes } from './byte-order.ts'
import { BatonError } from './error.ts'
import { isInside, realPath } from './files.ts'
import { matchSteps, parseGlob, pathSteps, type GlobPattern } from './glob-pattern.ts'
import { type GlobPlan, type GlobWalk, planWalks } from './glob-plan.ts'
import { canGoOn, enter, isExcluded, matchedGlob, type WalkState } from './glob-walk.ts'
import { leavingLink } from './link.ts'
import { finishSteps, type Steps } from './steps.ts'

export interface ListedFile {
  /** Relative to the base folder with `/`; absolute when the file is not below it. */
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
  /** Says yes to further real paths that may be listed although they are outside `root`. */
  readonly allows?: (real: string) => boolean
  /** Folders that are passed over unless a glob names them with a slash behind; see `buildFolders`. */
  readonly skipFolders?: readonly string[]
  /** Told of every folder that is looked into, whether it exists or not. */
  readonly onFolder?: (absolute: string) => void
}

/** Folders of tools and build results that no one means by `**` (spec/aipack.md 6.3). */
export const buildFolders: readonly string[] = ['.aipack', '.git', 'target', 'node_modules', '.build', '__pycache__']

const noFiles = /^(?:\.DS_Store|Thumbs\.db|.*\.swp)$/

/**
 * The files that match any of the globs and none of those with a leading `!`, ordered by the index of the last glob
 * that matches, then by path in byte order (spec/aipack.md 6.3). Globs with `!` alone exclude from everything.
 * Hidden files count; `**` does not go through links to folders, a glob that names such a link does. Folders that
 * cannot be read are passed over.
 * @throws BatonError OUTSIDE_WORKSPACE when a glob climbs out, or a link on the way or at the end leads out
 */
export function listFiles(globs: readonly string[], options: ListOptions): ListedFile[] {
  return finishSteps(listSteps(globs, options))
}

/** The same in steps, one for each folder. */
export function* listSteps(globs: readonly string[], options: ListOptions): Steps<ListedFile[]> {
  const allows = allowedBy(options)
  const baseDir = resolve(options.baseDir).split(sep).join('/')
  const patterns = globs.map(parseGlob)
  const plan = planWalks(patterns, baseDir, options.skipFolders ?? buildFolders)
  for (const { start, glob } of plan.walks) refuseOutside(start, glob, allows)

  const found = new Map<string, ListedFile>()
  for (const walk of plan.walks) {
    for (const match of walkFiles(walk, plan, { allows, onFolder: options.onFolder })) {
      if (match === undefined) {
        yield
        continue
      }
      const { absolute, glob } = match
      const known = found.get(absolute)
      if (known !== undefined && known.glob >= glob) continue
      found.set(absolute, { path: pathFrom(baseDir, absolute), absolute, glob })
    }
  }
  return [...found.values()].toSorted((a, b) => a.glob - b.glob || compareBytes(a.path, b.path))
}

function allowedBy({ root, allows }: ListOptions): (real: string) => boolean {
  return (real) => isInside(root, real) || allows?.(real) === true
}

function refuseOutside(start: string, glob: string, allows: (real: string) => boolean): void {
  if (allows(realPath(start))) return
  const link = leavingLink(start, allows)
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    link === undefined
      ? `the glob "${glob}" starts in ${start}, which is outside the workspace`
      : `the glob "${glob}" leads outside the workspace through the link ${link}`,
    { hint: 'Globs reach files of the workspace only.' },
  )
}

function pathFrom(baseDir: string, absolute: string): string {
  const prefix = baseDir.endsWith('/') ? baseDir : `${baseDir}/`
  return absolute.startsWith(prefix) ? absolute.slice(prefix.length) : absolute
}

interface Match {
  readonly absolute: string
  readonly glob: number
}

interface WalkOptions {
  readonly allows: (real: string) => boolean
  readonly onFolder: ListOptions['onFolder']
}

/** The files below the folders of a walk; undefined before each folder. */
function* walkFiles(
  walk: GlobWalk,
  { skipFolders }: GlobPlan,
  { allows, onFolder }: WalkOptions,
): Generator<Match | undefined> {
  const folders: Folder[] = [{ path: walk.start, state: walk.state }]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    yield undefined
    onFolder?.(folder.path)
    for (const entry of entriesOf(folder.path)) {
      const path = folder.path === '/' ? `/${entry.name}` : `${folder.path}/${entry.name}`
      const kind = kindOf(entry, path)
      const state = enter(folder.state, entry.name, { literally: kind === 'folder' && entry.isSymbolicLink() })
      if (kind === 'other' || isExcluded(state, kind)) continue
      const glob = kind === 'file' && !noFiles.test(entry.name) ? matchedGlob(state) : undefined
      const inner = kind === 'folder' && !skipFolders.has(entry.name) && canGoOn(state)
      if (glob === undefined && !inner) continue
      if (entry.isSymbolicLink()) refuseLink(path, `!${pathFrom(walk.start, path)}${inner ? '/**' : ''}`, allows)
      if (glob !== undefined) yield { absolute: path, glob }
      if (inner) folders.push({ path, state })
    }
  }
}

interface Folder {
  readonly path: string
  readonly state: WalkState
}

function refuseLink(link: string, exclusion: string, allows: (real: string) => boolean): void {
  if (allows(realPath(link))) return
  throw new BatonError('OUTSIDE_WORKSPACE', `a glob leads outside the workspace through the link ${link}`, {
    hint: `Exclude it with the glob "${exclusion}".`,
  })
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function kindOf(entry: Dirent, path: string): 'file' | 'folder' | 'other' {
  if (!entry.isSymbolicLink()) return entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other'
  try {
    const target = statSync(path)
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'other'
  } catch {
    return 'other'
  }
}

export interface GlobMatcher {
  /** True when some glob matches the path and none with a leading `!` does. */
  readonly matches: (path: string) => boolean
  /** Index of the first or last glob that matches the path, or -1. Globs with `!` count as they are written. */
  readonly indexOf: (path: string, which: 'first' | 'last') => number
}

/** Globs made ready to be compared with many paths. A path is compared as text: nothing is looked up on disk. */
export function compileGlobs(globs: readonly string[]): GlobMatcher {
  const patterns = globs.map(parseGlob)
  const hits = (pattern: GlobPattern, steps: readonly string[]): boolean =>
    pattern.alternatives.some((segments) => matchSteps(segments, steps))
  return {
    matches(path) {
      const steps = pathSteps(path)
      if (patterns.some((pattern) => pattern.negated && hits(pattern, steps))) return false
      const wanted = patterns.filter((pattern) => !pattern.negated)
      return wanted.length === 0 ? patterns.length > 0 : wanted.some((pattern) => hits(pattern, steps))
    },
    indexOf(path, which) {
      const steps = pathSteps(path)
      const hit = (pattern: GlobPattern): boolean => !pattern.negated && hits(pattern, steps)
      return which === 'first' ? patterns.findIndex(hit) : patterns.findLastIndex(hit)
    },
  }
}

/** True when the path matches one of the globs and none with a leading `!`. */
export function matchGlob(path: string, globs: readonly string[]): boolean {
  return compileGlobs(globs).matches(path)
}
