import { readSync } from 'node:fs'
import { readRegular } from '../base/regular-file.ts'

/**
 * Whether a file is a cassette, or empty, so that it may be overwritten. Only the beginning is checked, so a damaged
 * cassette counts too; an unreadable file does not.
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
