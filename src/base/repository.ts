import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { entryStatus, isFile, isFolder } from './entries.ts'

/** Whether git would detect a repository in this folder by itself; that includes bare ones at any depth. */
export function looksLikeRepository(folder: string): boolean {
  const has = (name: string): boolean => entryStatus(join(folder, name)) !== undefined
  try {
    return has('HEAD') && (has('commondir') || (isFolder(join(folder, 'objects')) && isFolder(join(folder, 'refs'))))
  } catch {
    return false
  }
}

/** Whether a folder with entries of these names, in lower case, would be one, also on a system that ignores case. */
export function wouldBeRepository(names: ReadonlySet<string>): boolean {
  return names.has('head') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

/**
 * The folder with the data of a repository, for the `.git` at its top: that folder itself, or the one that the file
 * names. Undefined if git would not take it for a repository: it is empty, or a clone was interrupted.
 */
export function repositoryAt(entry: string): string | undefined {
  try {
    const folder = isFolder(entry) ? entry : isFile(entry) ? namedIn(entry) : undefined
    return folder !== undefined && looksLikeRepository(folder) && hasHead(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

function namedIn(file: string): string | undefined {
  const [, named] = /^gitdir:[ \t]*(\S.*?)\s*$/.exec(readFileSync(file, 'utf8')) ?? []
  return named === undefined ? undefined : resolve(dirname(file), named)
}

/** Whether `HEAD` names a branch or a commit. */
function hasHead(folder: string): boolean {
  const head = join(folder, 'HEAD')
  if (lstatSync(head).isSymbolicLink()) return readlinkSync(head).startsWith('refs/')
  return /^(?:ref:\s*refs\/|[0-9a-f]{40})/.test(readFileSync(head, 'utf8'))
}
