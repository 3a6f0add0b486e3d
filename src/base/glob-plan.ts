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
import type { WalkBranch, WalkState } from './glob-walk.ts'

export interface GlobWalk {
  /** Absolute path of the folder to read first. */
  readonly start: string
  /** The glob that asks for it, as it was written. */
  readonly glob: string
  readonly state: WalkState
}

export interface GlobPlan {
  readonly walks: readonly GlobWalk[]
  readonly skipFolders: ReadonlySet<string>
}

interface Goal {
  readonly start: string
  readonly pattern: GlobPattern
  readonly branch: WalkBranch
}

/**
 * Which folders have to be read for these globs: one walk for all relative globs, and one for each folder outside the
 * base folder that absolute globs start from.
 * @throws BatonError OUTSIDE_WORKSPACE for a glob that climbs out by `..`
 */
export function planWalks(patterns: readonly GlobPattern[], baseDir: string, skipFolders: readonly string[]): GlobPlan {
  const wanted =
    patterns.some(({ negated }) => !negated) || patterns.length === 0 ? patterns : [everything, ...patterns]
  const goals = wanted.flatMap((pattern, glob) =>
    pattern.negated ? [] : pattern.alternatives.map((segments) => goalOf(pattern, { segments, glob, baseDir })),
  )
  const starts = new Map(goals.map(({ start, pattern }) => [start, pattern.text]))
  const excludes = patterns.flatMap(({ negated, alternatives }) => (negated ? alternatives : []))
  const walks = [...starts].map(([start, glob]) => ({
    start,
    glob,
    state: {
      includes: goals.filter((goal) => goal.start === start).map(({ branch }) => branch),
      excludes: excludes.flatMap((segments) => branchAt(segments, { start, baseDir }) ?? []),
    },
  }))
  return { walks, skipFolders: new Set(skipFolders.filter((name) => !wanted.some((pattern) => names(pattern, name)))) }
}

const everything = parseGlob('**')

function names({ negated, alternatives }: GlobPattern, folder: string): boolean {
  if (negated) return false
  return alternatives.some((segments) =>
    segments.slice(0, -1).some((segment) => segment.kind === 'literal' && segment.text === folder),
  )
}

function goalOf(
  pattern: GlobPattern,
  {
    segments,
    glob,
    baseDir,
  }: { readonly segments: readonly GlobSegment[]; readonly glob: number; readonly baseDir: string },
): Goal {
  const path = withoutClimbing(segments, pattern.text)
  if (!isAbsolute(path)) {
    return { start: baseDir, pattern, branch: { segments: path, glob, positions: startPositions(path) } }
  }
  const fixed = path.slice(0, -1).findIndex((segment) => segment.kind !== 'literal')
  const prefix = path.slice(1, fixed === -1 ? -1 : fixed)
  const folder = `/${prefix.map((segment) => (segment.kind === 'literal' ? segment.text : '')).join('/')}`
  const start = isInside(baseDir, folder) ? baseDir : folder
  return { start, pattern, branch: { segments: path, glob, positions: feed(path, start) } }
}

function isAbsolute([first]: readonly GlobSegment[]): boolean {
  return first?.kind === 'literal' && first.text === ''
}

function feed(segments: readonly GlobSegment[], folder: string): readonly number[] {
  let positions = startPositions(segments)
  for (const name of ['', ...pathSteps(folder).slice(1)]) positions = nextPositions(segments, positions, name)
  return positions
}

/** `a/../b` is `b`; what climbs above the start, or behind a wildcard, has no folder to be relative to. */
function withoutClimbing(segments: readonly GlobSegment[], glob: string): GlobSegment[] {
  const path: GlobSegment[] = []
  for (const segment of segments) {
    if (segment.kind !== 'literal' || segment.text !== '..') {
      path.push(segment)
      continue
    }
    const last = path.pop()
    if (last?.kind === 'literal' && last.text !== '') continue
    throw new BatonError('OUTSIDE_WORKSPACE', `the glob "${glob}" climbs out of the folder it starts from`, {
      hint: 'Write globs relative to the workspace, or name another base_dir inside it.',
    })
  }
  return path
}

/** An exclusion as seen from the folder where a walk starts. Relative ones count from the base folder. */
function branchAt(
  segments: readonly GlobSegment[],
  { start, baseDir }: { readonly start: string; readonly baseDir: string },
): WalkBranch | undefined {
  if (isAbsolute(segments)) return { segments, glob: -1, positions: feed(segments, start) }
  if (start === baseDir || segments[0]?.kind === 'globstar') {
    return { segments, glob: -1, positions: startPositions(segments) }
  }
  return undefined
}
