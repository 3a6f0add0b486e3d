import { realPath } from '../../base/files.ts'
import { createSeen, type SeenFiles } from '../changes/seen-files.ts'

export interface SeenFile {
  /** Absolute. */
  readonly path: string
  /** SHA-256 of the bytes of the whole file. */
  readonly hash: string
  /** The first and the last line, from 1, and the line count of the file; if omitted, the whole file. */
  readonly part?: { readonly from: number; readonly to: number; readonly lines: number }
}

/** What a model knows about the files on disk. In a resumed run it is rebuilt from the records of tools. */
export interface SeenLog {
  /** The model has seen a file, or wrote its content. */
  readonly add: (file: SeenFile) => void
  /** The model was told that the file no longer exists. */
  readonly forget: (path: string) => void
  /** Whether the model has seen any part of a file (absolute). */
  readonly knows: (path: string) => boolean
  /** Hashes of the files that it knows completely, by absolute path. */
  readonly whole: () => ReadonlyMap<string, string>
  /** The same, by any path of a file. */
  readonly files: () => SeenFiles
}

/** @param shown hashes of files that the prompt contains in full, by absolute path */
export function createSeenLog(shown: ReadonlyMap<string, string> = new Map()): SeenLog {
  const whole = new Map(shown)
  const parts = new Map<string, { readonly hash: string; readonly lines: Set<number> }>()
  let files: SeenFiles | undefined

  function know(path: string, hash: string): void {
    whole.set(path, hash)
    parts.delete(path)
    files = undefined
  }

  function seenFiles(): SeenFiles {
    return (files ??= createSeen(whole))
  }

  return {
    add({ path, hash, part }) {
      if (part === undefined) return know(path, hash)
      const before = parts.get(path)
      const lines = before?.hash === hash ? before.lines : new Set<number>()
      for (let line = part.from; line <= part.to; line += 1) lines.add(line)
      parts.set(path, { hash, lines })
      if (lines.size >= part.lines) know(path, hash)
    },
    forget(path) {
      const real = realPath(path)
      for (const name of [...whole.keys()].filter((one) => one === path || realPath(one) === real)) whole.delete(name)
      parts.delete(path)
      parts.delete(real)
      files = undefined
    },
    knows: (path) => parts.has(path) || parts.has(realPath(path)) || seenFiles().hashOf(path) !== undefined,
    whole: () => whole,
    files: seenFiles,
  }
}
