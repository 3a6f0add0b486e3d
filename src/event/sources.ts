import { createPool, type Pool } from '../base/concurrency.ts'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { Place } from './place.ts'

/** The files that a run executes, and those that a model has changed in it: never both. */
export interface RunSources {
  /**
   * Notes a file that is executed, and with `use` which text of it, and where in the run; from now on no answer changes it, nor the modules beside it.
   * @throws BatonError UNTRUSTED when an answer of this run has changed it, or it was changed while a program of a model ran
   */
  readonly execute: (file: string, use?: { readonly at: Place; readonly text: string }) => void
  /** Notes files that an answer has changed. Absolute. */
  readonly change: (files: readonly string[]) => void
  /** Programs of models may write below a folder (absolute, links resolved), until the function that is returned is called. */
  readonly writing: (folder: string) => () => void
  /** Notes a file that the run has made where nothing was. Absolute. */
  readonly make: (file: string) => void
  /** Whether the run has made this file. Absolute, links resolved. */
  readonly made: (file: string) => boolean
  /** For sets of changes: each sees the files as the one before has left them all. */
  readonly inTurn: Pool
  /** What an answer may not change: absolute paths of files and folders. */
  readonly executed: () => readonly string[]
}

/** Told of a text that is executed, by its hash. */
type OnUse = (at: Place, used: { readonly path: string; readonly hash: string }) => void

/**
 * One for each run. `files` are known to be executed from the start, `possible` would be if they were there: agents of
 * the run are looked for at these paths.
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
        throw new BatonError('UNTRUSTED', `${file} was changed by the answer of a model, and is not executed`, {
          place: { file },
          hint: 'Look at it, then run again.',
        })
      }
      if (wasWritten(realPath(file), spans)) {
        throw new BatonError('UNTRUSTED', `${file} was changed while a command of a model ran, and is not executed`, {
          place: { file },
          hint: 'Look at it, then run again.',
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

/** A time in which programs of models could write. */
interface WritingSpan {
  readonly folder: string
  readonly from: number
  to?: number
}

/** The time of the last change is set by the system: programs cannot set it back. */
function wasWritten(file: string, spans: readonly WritingSpan[]): boolean {
  const inFolder = spans.filter(({ folder }) => isInside(folder, file))
  if (inFolder.length === 0) return false
  const changed = statSync(file, { throwIfNoEntry: false })?.ctimeMs
  return changed !== undefined && inFolder.some(({ from, to = Infinity }) => changed >= from && changed <= to)
}
