import { readSync } from 'node:fs'
import { readRegular } from '../base/regular-file.ts'

/**
 * Whether a file is a cassette, or has nothing in it: it may be written over. Only the beginning is looked at, so a
 * damaged one is a cassette, too; a file that cannot be read is none.
 */
export function isCassette(file: string): boolean {
  try {
    const start = Buffer.alloc(200)
    const length = readRegular(file, (descriptor) => readSync(descriptor, start))
    return length === 0 || /^\S{8} \{.*"k":"cassette"/.test(start.toString('latin1', 0, length))
  } catch {
    return false
  }
}
