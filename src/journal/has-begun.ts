import { type FilePort, nodeFiles } from './file-port.ts'
import { readLines } from './lines.ts'
import { decodeLine } from './record.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { sealKind } from './signing.ts'

/** Kinds of records that report something done. An effect starts only once a signature below its record is on disk. */
const reports: readonly string[] = ['ended', 'done', 'call', 'show', 'failed', 'suspended', 'run.end', sealKind]

/**
 * Whether a run has begun: its process got far enough to sign its beginning, or to report anything that was done. A run
 * that was killed before has done nothing, and what its folder says cannot be trusted.
 */
export async function hasBegun(folder: string, files: FilePort = nodeFiles): Promise<boolean> {
  for (const epoch of epochsIn(folder, files)) {
    for await (const { bytes } of readLines(segmentFile(folder, epoch), files)) {
      const record = decodeLine(bytes)
      if (record !== undefined && reports.includes(record.k)) return true
    }
  }
  return false
}
