import { isBatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { filesAfter } from './action.ts'
import type { Directive } from './directive.ts'
import type { ChangeStep } from './plan.ts'
import type { Files } from './space.ts'

interface StaleOptions {
  /** Absolute paths of files that the model was shown, with the SHA-256 of the content it saw. */
  readonly shown: ReadonlyMap<string, string>
  /** The files on disk. */
  readonly files: Files
}

/**
 * The paths, as they are written, of files that would be replaced as a whole although the model has not seen what they
 * hold now: they have changed since they were shown, or never were (DESIGN 4). A file that an earlier change of the set
 * has moved is the one that was shown; one that the set has deleted still counts as the file it was; one that the set
 * has made is new.
 */
export function stalePaths(
  directives: readonly Directive[],
  steps: readonly ChangeStep[],
  { shown, files }: StaleOptions,
): readonly string[] {
  const seen = new Map([...shown].map(([path, hash]) => [realPath(path), hash]))
  const isSeen = (path: string): boolean => {
    const hash = hashOf(path, files)
    return hash !== undefined && seen.get(realPath(path)) === hash
  }

  let origins: Files = { kindAt: files.kindAt, textAt: (path) => path }
  const stale: string[] = []
  for (const [index, { action }] of steps.entries()) {
    const directive = directives[index]
    if (action === undefined || action.op === 'delete' || directive === undefined) continue
    const isWhole = directive.kind === 'New'
    const isThere = origins.kindAt(action.path) === 'file'
    if (isWhole && isThere) {
      const origin = origins.textAt(action.path)
      if (origin !== madeHere && !isSeen(origin)) stale.push(directive.filePath)
    }
    if (action.op === 'copy' || action.op === 'move') origins = filesAfter(origins, action)
    else if (isWhole || !isThere) {
      origins = filesAfter(origins, { op: 'write', path: action.path, content: madeHere })
    }
  }
  return [...new Set(stale)]
}

/** Undefined for what is not text, which no model was shown. */
function hashOf(path: string, files: Files): string | undefined {
  try {
    return sha256(files.textAt(path))
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}

/** Stands for the origin of a file whose content the set itself gives. */
const madeHere = ''
