import { type FilePort, nodeFiles } from './file-port.ts'
import { readLines } from './lines.ts'
import { decodeLine } from './record.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { sealKind } from './signing.ts'

/** Kinds of records that follow the start of work; nothing is done before they are on disk with a signature. */
const work: readonly string[] = ['started', 'ended', 'done', 'call', 'show', 'failed', 'suspended', 'run.end', sealKind]

/**
 * Whether a run has begun: its process got far enough to sign its beginning, or to record that work was started. A run
 * that was killed before has done nothing, and what its folder says cannot be trusted.
 */
export async function hasBegun(folder: string, files: FilePort = nodeFiles): Promise<boolean> {
  for (const epoch of epochsIn(folder, files)) {
    for await (const { bytes } of readLines(segmentFile(folder, epoch), files)) {
      const record = decodeLine(bytes)
      if (record !== undefined && work.includes(record.k)) return true
    }
  }
  return false
}
