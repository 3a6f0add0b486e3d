import { closeSync, openSync, readSync } from 'node:fs'
import type { RunContext } from '../event/context.ts'
import { readRegular } from './workspace-reads.ts'

const pieceBytes = 64 * 1024

/** Takes the next piece of a file, which is overwritten by the one after it. False: no more is wanted. */
export type PieceTaker = (piece: Buffer) => boolean

/**
 * Reads a file (absolute path) piece by piece, so that one that does not fit into memory can be looked at. `from` is the
 * byte to begin at.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readPieces(
  path: string,
  { take, from = 0 }: { readonly take: PieceTaker; readonly from?: number },
  context: Pick<RunContext, 'workspace' | 'policy'>,
): void {
  readRegular(path, context, (real) => {
    const descriptor = openSync(real, 'r')
    try {
      const buffer = Buffer.allocUnsafe(pieceBytes)
      let position = from
      for (;;) {
        const size = readSync(descriptor, buffer, 0, pieceBytes, position)
        if (size === 0 || !take(buffer.subarray(0, size))) return
        position += size
      }
    } finally {
      closeSync(descriptor)
    }
  })
}
