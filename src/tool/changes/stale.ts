import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { isBatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import type { Directive } from './directive.ts'
import type { ChangeStep } from './plan.ts'
import type { SeenFiles } from './seen-files.ts'
import { type ChangeAction, type Files, filesAfter } from './change-space.ts'

interface StaleOptions {
  /** Absolute: the paths in the result are relative to it. */
  readonly baseDir: string
  readonly seen: SeenFiles
  readonly files: Files
  /**
   * Whether the run itself has created a file (real path): such a file may be deleted, moved and appended to without
   * having been shown.
   */
  readonly isMade?: (path: string) => boolean
}

/** Maximum number of files named for a large folder. */
const mostNamed = 20

/**
 * Files that would be replaced, deleted, moved, copied or appended to although the model has not seen their present
 * content, each in one of the lists. Paths are relative to the base folder and refer to the files on disk, even if the
 * set moves them first.
 */
export interface StaleFiles {
  /** Were shown, and have changed since. */
  readonly paths: readonly string[]
  /** Exist and were never shown, or cannot be shown because they are not text. */
  readonly unseen: readonly string[]
  /** Were shown, and have been deleted since: they would be recreated. Omitted if there are none. */
  readonly gone?: readonly string[]
}

/**
 * Finds the files that the changes would lose or modify without the model having seen them: replaced by new content or
 * by a file that is copied or moved there, deleted, moved, copied or appended to; for a folder, every file in it.
 * Patches are not checked: they quote what they replace. A file moved by an earlier change of the set counts as the one
 * that was shown; one deleted by the set still counts as the original file; one created by the set, including copies,
 * is new. Nothing is lost if a file is replaced by one with the same content. A shown file that has been deleted since
 * is not recreated either.
 */
export function staleFiles(
  directives: readonly Directive[],
  steps: readonly ChangeStep[],
  { baseDir, seen, files, isMade = () => false }: StaleOptions,
): StaleFiles {
  const found = { paths: new Set<string>(), unseen: new Set<string>(), gone: new Set<string>() }

  let origins: Files = { kindAt: files.kindAt, textAt: (path) => path, bytesAt: () => 0 }
  const note = (origin: string, source: string): void => {
    const list = origin === madeHere ? undefined : listOf(origin, { seen, files, source })
    if (list !== undefined) found[list].add(relative(baseDir, origin))
  }
  const isOwn = (origin: string): boolean => origin === madeHere || isMade(realPath(origin))
  for (const [index, { action }] of steps.entries()) {
    const directive = directives[index]
    if (action === undefined || directive === undefined) continue
    if (action.op === 'delete' || action.op === 'move') {
      const taken = filesAt(action.op === 'move' ? action.from : action.path, origins)
      for (const origin of taken) if (!isOwn(origin) && found.unseen.size < mostNamed) note(origin, madeHere)
    }
    if (action.op === 'delete') continue
    if (action.op === 'copy') {
      // copied content could be read at its new path
      const origin = origins.textAt(action.from)
      if (!isOwn(origin) && seen.hashOf(origin) === undefined) found.unseen.add(relative(baseDir, origin))
    }
    const kind = origins.kindAt(action.path)
    const isThere = kind === 'file'
    const isWhole = directive.kind === 'New'
    const isMissing = kind === undefined && files.kindAt(action.path) === undefined
    if (isMissing && seen.hashOf(action.path) !== undefined) found.gone.add(relative(baseDir, action.path))
    if (isThere && (isWhole || isTransfer(action))) {
      note(origins.textAt(action.path), isTransfer(action) ? origins.textAt(action.from) : madeHere)
    }
    if (isThere && action.op === 'append') {
      const origin = origins.textAt(action.path)
      // others may have appended since it was shown: none of that is lost
      if (!isOwn(origin) && seen.hashOf(origin) === undefined) found.unseen.add(relative(baseDir, origin))
    }
    if (action.op === 'move') origins = filesAfter(origins, action)
    else if (isWhole || action.op === 'copy' || !isThere) {
      origins = filesAfter(origins, { op: 'write', path: action.path, content: madeHere })
    }
  }
  const gone = found.gone.size === 0 ? {} : { gone: [...found.gone] }
  return { paths: [...found.paths], unseen: [...found.unseen], ...gone }
}

/**
 * The files on disk that are at a path, or below it, after the changes so far. Links contain nothing that could be
 * lost.
 */
function* filesAt(path: string, origins: Files): Iterable<string> {
  const kind = origins.kindAt(path)
  const origin = kind === 'file' || kind === 'folder' ? origins.textAt(path) : madeHere
  if (origin === madeHere) return
  const status = entryStatus(origin)
  if (status?.isSymbolicLink() === true) return
  if (kind === 'file') yield origin
  else if (status?.isDirectory() === true) {
    for (const name of readdirSync(origin)) yield* filesAt(join(path, name), origins)
  }
}

function isTransfer(action: ChangeAction): action is Extract<ChangeAction, { readonly from: string }> {
  return action.op === 'copy' || action.op === 'move'
}

interface Replacing {
  readonly seen: SeenFiles
  readonly files: Files
  /** The file on disk that replaces it, if any. */
  readonly source: string
}

/** The list that a replaced file on disk belongs to; undefined if it may be replaced. */
function listOf(path: string, { seen, files, source }: Replacing): 'paths' | 'unseen' | undefined {
  const present = hashOf(path, files)
  const known = seen.hashOf(path)
  if (present !== undefined && present === known) return undefined
  if (present !== undefined && source !== madeHere && hashOf(source, files) === present) return undefined
  return known === undefined || present === undefined ? 'unseen' : 'paths'
}

/** Undefined if it is not text: then no model was shown it. */
function hashOf(path: string, files: Files): string | undefined {
  try {
    return sha256(files.textAt(path))
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}

/** The origin of a file whose content comes from the set itself. */
const madeHere = ''
