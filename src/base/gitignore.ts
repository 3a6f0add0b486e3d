import { isBatonError } from './error.ts'
import { type GlobSegment, matchSteps, parseGlob } from './glob-pattern.ts'

/** The patterns of one `.gitignore`. */
export interface IgnoreFile {
  /**
   * The verdict on an entry below the file's folder, given the names that lead to it; undefined: no pattern matches.
   * Ignored parent folders are up to the caller.
   */
  readonly says: (steps: readonly string[], kind: 'file' | 'folder') => 'ignored' | 'kept' | undefined
}

interface IgnorePattern {
  readonly verdict: 'ignored' | 'kept'
  readonly onlyFolders: boolean
  /** Matched against the name alone, or against all names from the folder of the file. */
  readonly about: 'name' | 'path'
  readonly segments: readonly GlobSegment[]
}

/** Parses the text of a `.gitignore`. Patterns that git does not understand either are skipped. */
export function parseIgnoreFile(text: string): IgnoreFile {
  const patterns = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .flatMap(parseLine)
    .toReversed()

  return {
    says(steps, kind) {
      const name = steps.slice(-1)
      const hit = patterns.find(
        ({ onlyFolders, about, segments }) =>
          (!onlyFolders || kind === 'folder') && matchSteps(segments, about === 'name' ? name : steps),
      )
      return hit?.verdict
    },
  }
}

function parseLine(line: string): readonly IgnorePattern[] {
  if (line.startsWith('#')) return []
  const isKept = line.startsWith('!')
  // trailing blanks count only after a backslash
  const written = (isKept ? line.slice(1) : line).replace(/(?<!\\)[ \t]+$/, '')
  const onlyFolders = written.endsWith('/')
  const path = written.replace(/\/+$/, '').replace(/^\/+/, '')
  if (path === '') return []
  const about = written.replace(/\/+$/, '').includes('/') ? 'path' : 'name'
  try {
    // braces are ordinary characters here
    const [segments = []] = parseGlob(
      path.replaceAll(/[{}]/g, String.raw`\$&`).replace(/^!/, String.raw`\!`),
    ).alternatives
    return [{ verdict: isKept ? 'kept' : 'ignored', onlyFolders, about, segments }]
  } catch (error) {
    if (isBatonError(error)) return []
    throw error
  }
}
