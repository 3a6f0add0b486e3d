import { isInside } from '../../base/files.ts'
import { appendToFile, copyFile, deleteEntry, moveEntry, saveFile, type FileCall } from '../workspace-files.ts'
import type { Files } from './space.ts'

/** A change of files that has been worked out. Paths are absolute. */
export type ChangeAction =
  | { readonly op: 'write'; readonly path: string; readonly content: string }
  /** `content` is what the file holds afterwards, `added` what is new at its end. */
  | { readonly op: 'append'; readonly path: string; readonly content: string; readonly added: string }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'delete'; readonly path: string }

/**
 * Carries out one planned change, as one file effect at the place of the call.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function performAction(action: ChangeAction, call: FileCall): void {
  switch (action.op) {
    case 'write':
      saveFile(action.path, action.content, call)
      return
    case 'append':
      appendToFile(action.path, action.added, call)
      return
    case 'copy':
      copyFile({ source: action.from, destination: action.path, overwrite: true }, call)
      return
    case 'move':
      moveEntry({ source: action.from, destination: action.path, overwrite: true }, call)
      return
    case 'delete':
      deleteEntry(action.path, call)
      return
  }
}

/** The files as they will be after the action, without touching any. */
export function filesAfter(files: Files, action: ChangeAction): Files {
  switch (action.op) {
    case 'write':
    case 'append':
      return withFile(files, action.path, { kindAt: () => 'file', textAt: () => action.content })
    case 'copy':
      return withFile(files, action.path, {
        kindAt: () => files.kindAt(action.from),
        textAt: () => files.textAt(action.from),
      })
    case 'move': {
      const { from, path } = action
      const moved = (asked: string): string => from + asked.slice(path.length)
      return withFile(without(files, from), path, {
        kindAt: (asked) => files.kindAt(moved(asked)),
        textAt: (asked) => files.textAt(moved(asked)),
      })
    }
    case 'delete':
      return without(files, action.path)
  }
}

/** The files with what `inner` says at and below a path; the folders above it exist. */
function withFile(files: Files, path: string, inner: Files): Files {
  return {
    kindAt(asked) {
      if (isInside(path, asked))
        return asked === path || inner.kindAt(path) === 'folder' ? inner.kindAt(asked) : undefined
      return isInside(asked, path) ? 'folder' : files.kindAt(asked)
    },
    textAt: (asked) => (isInside(path, asked) ? inner.textAt(asked) : files.textAt(asked)),
  }
}

function without(files: Files, path: string): Files {
  return { ...files, kindAt: (asked) => (isInside(path, asked) ? undefined : files.kindAt(asked)) }
}
