import { statfsSync } from 'node:fs'
import { existingAbove } from '../base/entries.ts'

/** `f_type` of file systems that other machines can write to as well (statfs(2)). */
const networkTypes: ReadonlySet<number> = new Set([
  0x69_69, // NFS
  0x51_7b, // SMB
  0xff_53_4d_42, // CIFS
  0xfe_53_4d_42, // SMB2
  0x53_46_41_4f, // AFS
  0x00_c3_64_00, // Ceph
])

/**
 * True if a folder, or the part of it that exists, is on a network file system. There, neither `link` nor the pid of an
 * owner tells who writes a run, so the run is kept in memory and cannot be resumed.
 */
export function isOnNetwork(folder: string, typeOf: (path: string) => number = fileSystemType): boolean {
  return networkTypes.has(typeOf(existingAbove(folder)))
}

function fileSystemType(path: string): number {
  try {
    // some systems return the 32 bits as a negative number
    return statfsSync(path).type >>> 0
  } catch {
    return 0
  }
}
