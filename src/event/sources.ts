import { createPool, type Pool } from '../base/concurrency.ts'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { Place } from './place.ts'

/** The files that a run executes, and those that a model changed in it. No file may be both. */
export interface RunSources {
  /**
   * Registers an executed file, and, with `use`, its text and the place in the run. From now on answers may not change
   * it or the modules next to it.
   * @throws BatonError UNTRUSTED when an answer of this run changed it, or it was changed while a program of a model
   * ran
   */
  readonly execute: (file: string, use?: { readonly at: Place; readonly text: string }) => void
  /** Registers files changed by an answer. Absolute. */
  readonly change: (files: readonly string[]) => void
  /** Programs of models may write below a folder (absolute, links resolved) until the returned function is called. */
  readonly writing: (folder: string) => () => void
  /** Registers a file that the run created where none was. Absolute. */
  readonly make: (file: string) => void
  /** Whether the run created this file. Absolute, links resolved. */
  readonly made: (file: string) => boolean
  /** Serializes sets of changes: each one sees the files as the previous one left them. */
  readonly inTurn: Pool
  /** Absolute paths of files and folders that answers may not change. */
  readonly executed: () => readonly string[]
}

/** Called with the hash of a text that is executed. */
type OnUse = (at: Place, used: { readonly path: string; readonly hash: string }) => void

/**
 * One per run. `files` are known from the start to be executed. `possible` are paths where agents of the run are looked
 * for: they would be executed if they existed.
 */
export function createSources(
  files: readonly string[],
  onUse: OnUse = () => {},
  possible: readonly string[] = [],
): RunSources {
  const executed = new Set<string>()
  const changed = new Set<string>()
  const madeFiles = new Set<string>()
  const spans: WritingSpan[] = []
  for (const file of files) note(file)

  function note(file: string): void {
    executed.add(file)
    // where scripts find their modules
    if (/\.(?:aip|lua)$/.test(file)) executed.add(join(dirname(file), 'lua'))
  }

  return {
    execute(file, use) {
      if (changed.has(realPath(file))) {
        throw new BatonError('UNTRUSTED', `${file} was changed by the answer of a model, so it is not executed`, {
          place: { file },
          hint: 'Review the file, then run again.',
        })
      }
      if (wasWritten(realPath(file), spans)) {
        throw new BatonError('UNTRUSTED', `${file} was changed while a command of a model ran, so it is not executed`, {
          place: { file },
          hint: 'Review the file, then run again.',
        })
      }
      note(file)
      if (use !== undefined) onUse(use.at, { path: file, hash: sha256(use.text) })
    },
    change(paths) {
      for (const path of paths) changed.add(realPath(path))
    },
    writing(folder) {
      const span: WritingSpan = { folder, from: Date.now() }
      spans.push(span)
      return () => void (span.to = Date.now())
    },
    make: (file) => void madeFiles.add(file),
    made: (file) => madeFiles.has(file),
    inTurn: createPool(1),
    executed: () => [...executed, ...possible],
  }
}

/** A period in which programs of models could write. */
interface WritingSpan {
  readonly folder: string
  readonly from: number
  to?: number
}

/** Uses ctime, which is set by the system and which programs cannot set back. */
function wasWritten(file: string, spans: readonly WritingSpan[]): boolean {
  const inFolder = spans.filter(({ folder }) => isInside(folder, file))
  if (inFolder.length === 0) return false
  const changed = statSync(file, { throwIfNoEntry: false })?.ctimeMs
  return changed !== undefined && inFolder.some(({ from, to = Infinity }) => changed >= from && changed <= to)
}
