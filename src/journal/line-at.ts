import type { FilePort } from './file-port.ts'

/** Most records are shorter: they are read in one go. */
const usualBytes = 4096

/** The line that begins at a byte of a file, without its line feed. Synchronous, because observations are. */
export function lineAt(descriptor: number, position: number, files: FilePort): Buffer {
  for (let size = usualBytes; ; size *= 4) {
    const target = Buffer.allocUnsafe(size)
    const count = files.readNow(descriptor, target, position)
    const end = target.subarray(0, count).indexOf(10)
    if (end !== -1) return target.subarray(0, end)
    if (count < size) return target.subarray(0, count)
  }
}
