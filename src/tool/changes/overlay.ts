import { entryPath, realPath } from '../../base/files.ts'
import type { RunStore } from '../../event/context.ts'
import type { Overlay, OverlayChange, OverlayEntry } from '../../event/overlay.ts'
import { statusAt } from '../workspace-reads.ts'
import { type Files, PlannedFiles } from './change-space.ts'

/** Total characters of all files. */
export const mostPlanned = 64 * 1024 * 1024

/** An overlay without planned changes. */
export function createOverlay(most = mostPlanned): Overlay {
  let files = new PlannedFiles(onDisk, new Map(), 0)
  let size = 0
  let hasMoved = false

  function at(path: string): OverlayEntry {
    const entry = entryPath(path)
    const found = files.entryAt(entry)
    if (found.kind !== 'disk' || found.path !== entry) return found
    const real = realPath(path)
    const target = real === entry ? found : files.entryAt(real)
    return target.kind === 'disk' && target.path === real ? { kind: 'disk', path } : target
  }

  return {
    at,
    add(change, text = '') {
      if (change.op !== 'write') {
        const from = 'from' in change ? { op: change.op, from: entryPath(change.from) } : { op: change.op }
        files = files.after({ ...from, path: entryPath(change.path) } as Parameters<PlannedFiles['after']>[0])
        hasMoved ||= change.op !== 'delete'
        return true
      }
      // a write through a link goes to its target
      const path =
        files.entryAt(entryPath(change.path)).kind === 'disk' ? realPath(change.path) : entryPath(change.path)
      const before = files.entryAt(path)
      const isReplaced = !hasMoved && before.kind === 'file'
      const after = size + text.length - (isReplaced ? before.text.length : 0)
      if (after > most) return false
      size = after
      files = files.after({ op: 'write', path, content: text }, !hasMoved)
      return true
    },
  }
}

/** Used only to find out which folders exist. */
const onDisk: Files = {
  kindAt: (path) => statusAt(path)?.kind,
  textAt: () => '',
  bytesAt: () => 0,
}

/** The files with the overlay applied; the given ones if there is none. */
export function overlaid(overlay: Overlay | undefined, disk: Files): Files {
  if (overlay === undefined) return disk
  return {
    kindAt(path) {
      const entry = overlay.at(path)
      if (entry.kind === 'disk') return disk.kindAt(entry.path)
      return entry.kind === 'nothing' ? undefined : entry.kind
    },
    textAt(path) {
      const entry = overlay.at(path)
      return entry.kind === 'file' ? entry.text : disk.textAt(entry.kind === 'disk' ? entry.path : path)
    },
    bytesAt(path) {
      const entry = overlay.at(path)
      if (entry.kind === 'disk') return disk.bytesAt(entry.path)
      return entry.kind === 'file' ? Buffer.byteLength(entry.text) : 0
    },
  }
}

/**
 * Notes what part of a run that changes no files has planned. `texts`: file contents by hash; missing ones are looked
 * up in what is stored with the run. Returns false if the overlay is full, so that part of it is not noted.
 */
export function notePlanned(
  changes: readonly OverlayChange[],
  texts: ReadonlyMap<string, string>,
  { planned, texts: kept, sources }: RunStore,
): boolean {
  if (planned === undefined) return true
  let isAll = true
  for (const change of changes) {
    const text = change.op === 'write' ? (texts.get(change.hash) ?? kept?.find(change.hash)) : ''
    // a replay answers everything from its record, and may not have this text
    if (text === undefined) continue
    const there = planned.at(change.path)
    const isNew = there.kind === 'disk' ? statusAt(there.path) === undefined : there.kind === 'nothing'
    if (isNew && change.op !== 'delete') sources.make(realPath(change.path))
    isAll = planned.add(change, text) && isAll
  }
  return isAll
}
