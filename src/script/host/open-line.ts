import { readPieces } from '../../tool/file-pieces.ts'
import { fileStatus } from '../../tool/workspace-reads.ts'
import type { Section } from './module.ts'

/** Whether a file (absolute path) has a last line without a line break; not when it is empty or missing. */
export function endsInsideLine(path: string, context: Section['context']): boolean {
  const status = fileStatus(path, context)
  if (status?.kind !== 'file' || status.size === 0) return false
  let last = 0
  const take = (piece: Buffer): boolean => {
    last = piece.at(-1) ?? last
    return true
  }
  readPieces(path, { take, from: status.size - 1 }, context)
  return last !== 10 && last !== 13
}
