import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { isInside } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import { statusAt } from '../watch/prints.ts'

/** Files to which recorded `append`s are applied again. Paths are absolute and used only as keys. */
export interface AppendedFiles {
  /** Adds a text at its recorded offset, in whatever order the appends arrive now. */
  readonly add: (path: string, record: FileChangeRecord, file: AppendedFile) => void
  /** The files at or below a path whose content lacks some of the recorded text or differs from it. */
  readonly unlikeBelow: (path: string) => readonly string[]
  /** Stops tracking files whose content is going to change. */
  readonly forget: (path: string) => void
}

interface AppendedFile {
  readonly disk: string
  /** Whether the content before the first `add` may be the final one of the recorded run, with all its appends. */
  readonly isLeft: boolean
  readonly write: () => void
}

interface Piece {
  /** The size of the file before the append, in bytes. */
  readonly offset: number
  readonly bytes: number
}

interface State {
  /** The size of the original content, in bytes. */
  base: number
  readonly isLeft: boolean
  /** The appended pieces in their recorded order. */
  readonly pieces: Piece[]
}

export function createAppendedFiles(): AppendedFiles {
  const states = new Map<string, State>()

  return {
    add(path, record, { disk, isLeft, write }) {
      const { offset, bytes, after } = record
      if (typeof offset !== 'number' || typeof bytes !== 'number') return write()
      const piece = { offset, bytes }
      const state = states.get(path) ?? { base: sizeOf(disk), isLeft, pieces: [] }
      states.set(path, state)
      if (state.isLeft && holds(disk, { base: state.base, piece, after })) {
        cut(disk, { from: offset, to: state.base, isEnd: state.pieces.length === 0 })
        state.base = offset
      }
      write()
      const index = state.pieces.findIndex((one) => one.offset > offset)
      if (index === -1) return void state.pieces.push(piece)
      moveEnd(disk, { bytes, to: endOf(state.base, state.pieces.slice(0, index)) })
      state.pieces.splice(index, 0, piece)
    },
    unlikeBelow: (path) => [...states].flatMap(([one, state]) => (isInside(path, one) && !isWhole(state) ? [one] : [])),
    forget(path) {
      for (const one of states.keys()) if (isInside(path, one)) states.delete(one)
    },
  }
}

function isWhole({ base, pieces }: State): boolean {
  let end = base
  for (const { offset, bytes } of pieces) {
    if (offset !== end) return false
    end += bytes
  }
  return true
}

function endOf(base: number, pieces: readonly Piece[]): number {
  return pieces.reduce((end, { bytes }) => end + bytes, base)
}

function sizeOf(disk: string): number {
  const status = statusAt(disk)
  return status?.isFile() === true ? Number(status.size) : 0
}

function holds(
  disk: string,
  { base, piece, after }: { readonly base: number; readonly piece: Piece; readonly after: string | null },
): boolean {
  const end = piece.offset + piece.bytes
  return end <= base && sha256(readFileSync(disk).subarray(piece.offset, end)) === after
}

function cut(
  disk: string,
  { from, to, isEnd }: { readonly from: number; readonly to: number; readonly isEnd: boolean },
): void {
  if (isEnd) return truncateSync(disk, from)
  const content = readFileSync(disk)
  writeFileSync(disk, Buffer.concat([content.subarray(0, from), content.subarray(to)]))
}

function moveEnd(disk: string, { bytes, to }: { readonly bytes: number; readonly to: number }): void {
  const content = readFileSync(disk)
  const end = content.length - bytes
  const parts = [content.subarray(0, to), content.subarray(end), content.subarray(to, end)]
  writeFileSync(disk, Buffer.concat(parts))
}
