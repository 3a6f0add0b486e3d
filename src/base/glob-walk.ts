import { BatonError } from './error.ts'
import { isInside } from './files.ts'
import {
  type GlobPattern,
  type GlobSegment,
  nextPositions,
  parseGlob,
  pathSteps,
  startPositions,
} from './glob-pattern.ts'

/** One brace alternative of a glob, and the walk's position in it. */
interface WalkBranch {
  readonly segments: readonly GlobSegment[]
  readonly positions: readonly number[]
  /** Index of its glob in the list. */
  readonly glob: number
}

/** What can still match in a folder, or what an entry has matched. */
export interface WalkState {
  readonly includes: readonly WalkBranch[]
  readonly excludes: readonly WalkBranch[]
}

interface GlobWalk {
  /** Absolute path of the folder to read first. */
  readonly start: string
  /** The glob that needs it, as written. */
  readonly glob: string
  readonly state: WalkState
}

interface GlobPlan {
  readonly walks: readonly GlobWalk[]
  readonly skipFolders: ReadonlySet<string>
}

interface Goal {
  readonly start: string
  readonly pattern: GlobPattern
  readonly branch: WalkBranch
}

/**
 * The folders to read for these globs: one walk for all relative globs, and one for each folder outside the base folder
 * that absolute globs start from.
 * @throws BatonError OUTSIDE_WORKSPACE for a glob that climbs out with `..`
 */
export function planWalks(patterns: readonly GlobPattern[], baseDir: string, skipFolders: readonly string[]): GlobPlan {
  const wanted =
    patterns.some(({ negated }) => !negated) || patterns.length === 0 ? patterns : [everything, ...patterns]
  const goals = wanted.flatMap((pattern, glob) =>
    pattern.negated ? [] : pattern.alternatives.map((segments) => goalOf(pattern, { segments, glob }, baseDir)),
  )
  const starts = new Map(goals.map(({ start, pattern }) => [start, pattern.text]))
  const excludes = patterns.flatMap(({ negated, alternatives }) => (negated ? alternatives : []))
  const walks = [...starts].map(([start, glob]) => ({
    start,
    glob,
    state: {
      includes: goals.filter((goal) => goal.start === start).map(({ branch }) => branch),
      excludes: excludes.flatMap((segments) => exclusion(segments, start, baseDir)),
    },
  }))
  return { walks, skipFolders: new Set(skipFolders.filter((name) => !wanted.some((pattern) => names(pattern, name)))) }
}

const everything = parseGlob('**')

/** Whether the glob contains the folder as a literal name followed by a slash. */
function names({ negated, alternatives }: GlobPattern, folder: string): boolean {
  const isNamed = (segment: GlobSegment): boolean => segment.kind === 'literal' && segment.text === folder
  return !negated && alternatives.some((segments) => segments.slice(0, -1).some(isNamed))
}

function goalOf(
  pattern: GlobPattern,
  { segments, glob }: Pick<WalkBranch, 'segments' | 'glob'>,
  baseDir: string,
): Goal {
  const path = withoutParents(segments, pattern.text)
  if (!isAbsolute(path)) {
    return { start: baseDir, pattern, branch: { segments: path, glob, positions: startPositions(path) } }
  }
  const fixed = path.slice(0, -1).findIndex((segment) => segment.kind !== 'literal')
  const prefix = path.slice(1, fixed === -1 ? -1 : fixed)
  const folder = `/${prefix.map((segment) => (segment.kind === 'literal' ? segment.text : '')).join('/')}`
  const start = isInside(baseDir, folder) ? baseDir : folder
  return { start, pattern, branch: { segments: path, glob, positions: positionsAt(path, start) } }
}

function isAbsolute([first]: readonly GlobSegment[]): boolean {
  return first?.kind === 'literal' && first.text === ''
}

function positionsAt(segments: readonly GlobSegment[], folder: string): readonly number[] {
  let positions = startPositions(segments)
  for (const name of ['', ...pathSteps(folder).slice(1)]) positions = nextPositions(segments, positions, name)
  return positions
}

/** Resolves `a/../b` to `b`. A `..` that climbs out, or follows a wildcard, has no folder to be relative to. */
function withoutParents(segments: readonly GlobSegment[], glob: string): GlobSegment[] {
  const path: GlobSegment[] = []
  for (const segment of segments) {
    if (segment.kind !== 'literal' || segment.text !== '..') {
      path.push(segment)
      continue
    }
    const last = path.pop()
    if (last?.kind === 'literal' && last.text !== '') continue
    throw new BatonError('OUTSIDE_WORKSPACE', `the glob "${glob}" climbs out of the folder it starts from`, {
      hint: 'Write globs relative to the workspace, or set a different base_dir inside it.',
    })
  }
  return path
}

/**
 * An exclusion as seen from the start folder of a walk, if it can match there. Relative ones start in the base folder.
 */
function exclusion(segments: readonly GlobSegment[], start: string, baseDir: string): readonly WalkBranch[] {
  if (isAbsolute(segments)) return [{ segments, glob: -1, positions: positionsAt(segments, start) }]
  const canMatch = start === baseDir || segments[0]?.kind === 'globstar'
  return canMatch ? [{ segments, glob: -1, positions: startPositions(segments) }] : []
}

/**
 * The state after reading the name of one more entry. `literally`: only globs that contain the name literally count,
 * which is the rule for following links to folders.
 */
export function enter(state: WalkState, name: string, { literally }: { readonly literally: boolean }): WalkState {
  return {
    includes: step(literally ? state.includes.map((branch) => literalOnly(branch, name)) : state.includes, name),
    excludes: step(state.excludes, name),
  }
}

function step(branches: readonly WalkBranch[], name: string): WalkBranch[] {
  return branches.flatMap((branch) => {
    const positions = nextPositions(branch.segments, branch.positions, name)
    return positions.length === 0 ? [] : [{ ...branch, positions }]
  })
}

function literalOnly(branch: WalkBranch, name: string): WalkBranch {
  const positions = branch.positions.filter((position) => {
    const segment = branch.segments[position]
    return segment?.kind === 'literal' && segment.text === name
  })
  return { ...branch, positions }
}

/** Index of the last glob that matches the whole entry. */
export function matchedGlob({ includes }: WalkState): number | undefined {
  const globs = includes.filter(isComplete).map(({ glob }) => glob)
  return globs.length === 0 ? undefined : Math.max(...globs)
}

/** True if something below the entry can still match. */
export function canContinue({ includes }: WalkState): boolean {
  return includes.some(({ segments, positions }) => positions.some((position) => position < segments.length))
}

/** True if an exclusion matches the entry or, for a folder, everything below it. */
export function isExcluded({ excludes }: WalkState, kind: 'file' | 'folder'): boolean {
  return excludes.some((branch) => isComplete(branch) || (kind === 'folder' && coversAll(branch)))
}

function isComplete({ segments, positions }: WalkBranch): boolean {
  return positions.includes(segments.length)
}

function coversAll({ segments, positions }: WalkBranch): boolean {
  return segments.at(-1)?.kind === 'globstar' && positions.includes(segments.length - 1)
}
