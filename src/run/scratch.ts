import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { displayPath, isInside } from '../base/files.ts'
import type { Disk, FileChangeRecord } from '../event/effects.ts'
import type { ScratchFiles } from '../journal/replayed-changes.ts'

export interface Scratch extends ScratchFiles {
  /** Where the files are: below it those of the workspace, in `outside` all others. Undefined until one is changed. */
  readonly folder: () => string | undefined
  /** The files that were changed, as they are shown: relative to the workspace when inside. Sorted. */
  readonly files: () => readonly string[]
}

/**
 * A folder in which a replayed run changes files in place of the workspace (absolute). What it changes and only the
 * workspace has is copied first. Removing it is up to the caller.
 */
export function createScratch(workspace: string): Scratch {
  let root: string | undefined
  /** Paths that are as the run left them, whatever the workspace has there. */
  const touched = new Set<string>()
  const changed = new Set<string>()

  function disk(path: string): string {
    root ??= realpathSync(mkdtempSync(join(tmpdir(), 'baton-replay-')))
    return isInside(workspace, path)
      ? join(root, relative(workspace, path))
      : join(root, 'outside', relative('/', path))
  }

  /** Makes what stands at a path what it would be by now. */
  function bring(path: string): void {
    const isOwn = [...touched].some((one) => isInside(one, path))
    // a link would lead out of here again
    if (isOwn || isThere(disk(path)) || kindOf(path) !== 'entry') return
    mkdirSync(dirname(disk(path)), { recursive: true })
    cpSync(path, disk(path), { recursive: true, verbatimSymlinks: true })
  }

  function apply({ op, from, mode }: FileChangeRecord, path: string, write: (disk: Disk) => void): void {
    const source = typeof from === 'string' ? resolve(workspace, from) : undefined
    mkdirSync(dirname(disk(path)), { recursive: true })
    if (!isInside(disk(workspace), realpathSync(dirname(disk(path))))) return
    if (kindOf(disk(path)) === 'link') rmSync(disk(path))
    switch (op) {
      case 'delete':
        return rmSync(disk(path), { recursive: true, force: true })
      case 'mkdir':
        return void mkdirSync(disk(path), { recursive: true })
      case 'chmod':
        return typeof mode === 'number' && existsSync(disk(path)) ? chmodSync(disk(path), mode) : undefined
      case 'copy':
      case 'move':
        return source === undefined ? undefined : transfer(op, disk(source), disk(path))
      default:
        return write(disk)
    }
  }

  return {
    change(record, write) {
      const path = resolve(workspace, record.path)
      const involved = typeof record['from'] === 'string' ? [path, resolve(workspace, record['from'])] : [path]
      for (const one of involved) bring(one)
      apply(record, path, write)
      for (const one of record.op === 'copy' ? [path] : involved) touched.add(one)
      for (const one of involved) {
        if (isThere(disk(one)) && one === path) changed.add(displayPath(workspace, one))
        else if (!isThere(disk(one))) changed.delete(displayPath(workspace, one))
      }
    },
    folder: () => root,
    files: () => [...changed].toSorted(),
  }
}

/** What is not there, because the record does not hold the files of then, cannot be moved. */
function transfer(op: 'copy' | 'move', from: string, to: string): void {
  if (!isThere(from) || from === to) return
  rmSync(to, { recursive: true, force: true })
  if (op === 'move') renameSync(from, to)
  else cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

function kindOf(path: string): 'link' | 'entry' | 'nothing' {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return 'nothing'
  return status.isSymbolicLink() ? 'link' : 'entry'
}

function isThere(path: string): boolean {
  return kindOf(path) !== 'nothing'
}
