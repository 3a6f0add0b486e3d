import { isBatonError } from '../../base/error.ts'
import { binaryDiff, diffHead, diffNames, type GitChange, plainMode } from '../../base/git-diff.ts'
import type { ChangeStep } from './plan.ts'
import { filesAfter } from './files-after.ts'
import type { ChangeAction, Files } from './space.ts'
import type { TextThread } from './text-thread.ts'

/** A planned change as displayed. A type, because only types are assignable to JSON. */
export type ShownChange = {
  /** Index of its directive. */
  readonly index: number
  /** Absolute. */
  readonly path: string
  readonly isDeletion: boolean
  /** Unified diff, with paths from the workspace after `a/` and `b/`, as git has it. Ends with a line feed. */
  readonly diff: string
}

/**
 * What the steps do, each against the files as the ones before it will have left them. `name`: returns a path from the
 * workspace.
 */
export async function showSteps(
  steps: readonly ChangeStep[],
  { files: present, name }: { readonly files: Files; readonly name: (path: string) => string },
  thread: TextThread,
): Promise<readonly ShownChange[]> {
  let files = present
  const shown: ShownChange[] = []
  for (const [index, { action }] of steps.entries()) {
    if (action === undefined) continue
    await thread.pause()
    const after = filesAfter(files, action)
    const diff = await diffOf(action, { before: files, after, name }, thread)
    files = after
    shown.push({ index, path: action.path, isDeletion: action.op === 'delete', diff })
  }
  return shown
}

interface Sides {
  readonly before: Files
  readonly after: Files
  readonly name: (path: string) => string
}

async function diffOf(action: ChangeAction, { before, after, name }: Sides, thread: TextThread): Promise<string> {
  const change = changeOf(action, before.kindAt(action.path) === undefined, name)
  const head = diffHead(change)
  // copied and moved content does not change
  if ('from' in change) return head
  const { op, path } = action
  if (op === 'delete' && before.kindAt(path) === 'folder') return `${head}a folder, with everything in it\n`
  const [old, present] = [textOf(before, path), textOf(after, path)]
  const names = diffNames(change)
  if (old === undefined || present === undefined) return head + binaryDiff(names)
  return head + (await thread.work('unifiedDiff', old, present, names))
}

function changeOf(action: ChangeAction, isNew: boolean, name: Sides['name']): GitChange {
  const path = name(action.path)
  if ('from' in action) return { kind: action.op === 'move' ? 'moved' : 'copied', path, from: name(action.from) }
  if (action.op === 'delete') return { kind: 'deleted', path, mode: plainMode }
  return isNew ? { kind: 'created', path, mode: plainMode } : { kind: 'changed', path }
}

/** Empty for a missing file; undefined if it is not text. */
function textOf(files: Files, path: string): string | undefined {
  if (files.kindAt(path) === undefined) return ''
  try {
    return files.textAt(path)
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}
