import { type GlobSegment, matchSegment, nextPositions } from './glob-pattern.ts'

/** One brace alternative of a glob, and where in it the walk stands. */
export interface WalkBranch {
  readonly segments: readonly GlobSegment[]
  readonly positions: readonly number[]
  /** Index of its glob in the list. */
  readonly glob: number
}

/** What is still possible in a folder, or what an entry has matched. */
export interface WalkState {
  readonly includes: readonly WalkBranch[]
  readonly excludes: readonly WalkBranch[]
}

export interface EnterOptions {
  /** Only globs count that name the entry as it is: how links to folders are entered. */
  readonly literally?: boolean
}

/** The state after reading the name of one more entry. */
export function enter(state: WalkState, name: string, { literally = false }: EnterOptions = {}): WalkState {
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
    return segment?.kind === 'literal' && matchSegment(segment, name)
  })
  return { ...branch, positions }
}

/** The last glob that the entry matches as a whole. */
export function matchedGlob({ includes }: WalkState): number | undefined {
  const globs = includes.filter(isComplete).map(({ glob }) => glob)
  return globs.length === 0 ? undefined : Math.max(...globs)
}

/** True when something below the entry can still match. */
export function canGoOn({ includes }: WalkState): boolean {
  return includes.some(({ segments, positions }) => positions.some((position) => position < segments.length))
}

/** True when an exclusion names the entry, or, for a folder, everything below it. */
export function isExcluded({ excludes }: WalkState, kind: 'file' | 'folder'): boolean {
  return excludes.some((branch) => isComplete(branch) || (kind === 'folder' && coversAll(branch)))
}

function isComplete({ segments, positions }: WalkBranch): boolean {
  return positions.includes(segments.length)
}

function coversAll({ segments, positions }: WalkBranch): boolean {
  return segments.at(-1)?.kind === 'globstar' && positions.includes(segments.length - 1)
}
