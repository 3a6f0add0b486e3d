import { dirname } from 'node:path'
import type { OverlayEntry } from '../../event/overlay.ts'
import type { FileStatus } from '../workspace-reads.ts'
import type { ChangeAction, Files } from './space.ts'

/** The files as they will be after the action, without changing any. */
export function filesAfter(files: Files, action: ChangeAction): Files {
  return (files instanceof PlannedFiles && files.isLatest ? files : new PlannedFiles(files, new Map(), 0)).after(action)
}

/** What a planned change leaves at a path. */
type Left =
  | { readonly kind: 'file'; readonly text: string }
  /** Created because something is written below it. */
  | { readonly kind: 'folder' | 'nothing' }
  /** The file that the base has at another path. */
  | { readonly kind: 'below'; readonly path: string }
  /** What was at another path before, with everything in it. */
  | { readonly kind: 'from'; readonly path: string }

interface Change {
  readonly count: number
  readonly left: Left
}

/**
 * Files after a number of planned changes, which are shared with later states. The cost of a lookup is the depth of the
 * path.
 */
export class PlannedFiles implements Files {
  readonly #base: Files
  /** The changes of each path, the latest last. */
  readonly #changes: Map<string, Change[]>
  readonly #count: number
  #isLatest = true

  constructor(base: Files, changes: Map<string, Change[]>, count: number) {
    this.#base = base
    this.#changes = changes
    this.#count = count
  }

  get isLatest(): boolean {
    return this.#isLatest
  }

  readonly kindAt = (path: string): FileStatus['kind'] | undefined => {
    const found = this.#find(path)
    if (found.left === undefined) return this.#base.kindAt(found.path)
    if (found.left.kind === 'nothing' || found.at !== found.path) return undefined
    return found.left.kind
  }

  readonly textAt = (path: string): string => {
    const found = this.#find(path)
    return found.left?.kind === 'file' && found.at === found.path ? found.left.text : this.#base.textAt(found.path)
  }

  readonly bytesAt = (path: string): number => {
    const found = this.#find(path)
    if (found.left === undefined) return this.#base.bytesAt(found.path)
    return found.left.kind === 'file' && found.at === found.path ? Buffer.byteLength(found.left.text) : 0
  }

  /** The entry at a path: a planned one, or what the base has there or at another path. */
  entryAt(path: string): OverlayEntry {
    const found = this.#find(path)
    if (found.left === undefined) return { kind: 'disk', path: found.path }
    return found.at === found.path ? found.left : { kind: 'nothing' }
  }

  /** `replaces`: the previous text of a file is not needed any more, and is released. */
  after(action: ChangeAction, replaces = false): PlannedFiles {
    this.#isLatest = false
    const count = this.#count + 1
    const { path } = action
    const leave = (at: string, left: Left): void => {
      const changes = this.#changes.get(at)
      if (changes === undefined) this.#changes.set(at, [{ count, left }])
      else if (replaces && changes.at(-1)?.left.kind === 'file') changes.splice(-1, 1, { count, left })
      else changes.push({ count, left })
    }
    if (action.op === 'delete') leave(path, { kind: 'nothing' })
    else {
      for (const folder of foldersAbove(path)) {
        if (this.kindAt(folder) !== undefined) break
        leave(folder, { kind: 'folder' })
      }
      if (action.op === 'move') leave(action.from, { kind: 'nothing' })
      leave(path, 'from' in action ? this.#origin(action.from) : { kind: 'file', text: action.content })
    }
    return new PlannedFiles(this.#base, this.#changes, count)
  }

  #origin(path: string): Left {
    const { left, at, path: below } = this.#find(path)
    if (this.kindAt(path) !== 'file') return { kind: 'from', path }
    return left?.kind === 'file' && at === below ? left : { kind: 'below', path: below }
  }

  /** The last change that determines the entry at a path, followed through moves; if none, the path in the base. */
  #find(asked: string): {
    readonly path: string
    readonly at?: string
    readonly left?: Exclude<Left, { kind: 'from' | 'below' }>
  } {
    let path = asked
    let before = this.#count + 1
    for (;;) {
      const found = this.#last(path, before)
      if (found === undefined) return { path }
      const { at, change } = found
      if (change.left.kind === 'below' && at === path) return { path: change.left.path }
      if (change.left.kind === 'below') return { path, at, left: { kind: 'nothing' } }
      if (change.left.kind !== 'from') return { path, at, left: change.left }
      path = change.left.path + path.slice(at.length)
      before = change.count
    }
  }

  #last(path: string, before: number): { readonly at: string; readonly change: Change } | undefined {
    let last: { readonly at: string; readonly change: Change } | undefined
    for (const at of [path, ...foldersAbove(path)]) {
      const change = this.#changes.get(at)?.findLast((one) => one.count < before)
      // the creation of a folder says nothing about its content
      if (change === undefined || (change.left.kind === 'folder' && at !== path)) continue
      if (last === undefined || change.count > last.change.count) last = { at, change }
    }
    return last
  }
}

function foldersAbove(path: string): readonly string[] {
  const folders: string[] = []
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) folders.push(folder)
  return folders
}
