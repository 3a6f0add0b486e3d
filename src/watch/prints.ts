import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { readRegularFile } from '../base/regular-file.ts'
import { sha256 } from '../base/hash.ts'

/** Returns a fingerprint: equal for equal content, '' for an empty file, null if there is no readable file. */
export type Prints = (path: string, part: FilePart) => string | null

/** `prompt`: ignores the part of a prompt file below its `====` line. */
export type FilePart = 'whole' | 'prompt'

interface PrintOptions {
  /** The hash of the part of a prompt file above its `====` line. */
  readonly hashPrompt: (text: string) => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** How long to wait for a missing or empty file, in milliseconds: an editor may be about to write it. */
export const blankMs = 1_500

/** Larger files are compared by size and times only: runs do not read them as text. */
const mostBytes = 32 * 1024 * 1024

/** File systems round timestamps: a file changed this recently may change again and keep its timestamp. */
const timeStepMs = 2_000

/** Rereads content only if size, timestamps, inode or device have changed. */
export function createPrints({ hashPrompt, now }: PrintOptions): Prints {
  const known = new Map<string, { readonly status: string; readonly print: string }>()
  return (path, part) => {
    const found = statusAt(path)
    if (found === undefined || !found.isFile()) return null
    if (found.size === 0n) return ''
    const status = statusText(found)
    const key = `${part} ${path}`
    const last = known.get(key)
    if (last?.status === status) return last.print
    if (found.size > mostBytes) return `large ${status}`

    const print = read(path, part)
    if (print !== null && now() - Number(found.ctimeMs) > timeStepMs) known.set(key, { status, print })
    return print
  }

  function read(path: string, part: FilePart): string | null {
    try {
      const bytes = readRegularFile(path)
      // emptied meanwhile
      if (bytes.length === 0) return ''
      return part === 'whole' ? sha256(bytes) : hashPrompt(bytes.toString('utf8'))
    } catch {
      // removed meanwhile, or not readable: counts as missing
      return null
    }
  }
}

function statusText({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

/** The status of a path, following links; undefined if it does not exist or is inaccessible. */
export function statusAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether the path is a folder, following links. */
export function isFolder(path: string): boolean {
  return statusAt(path)?.isDirectory() === true
}

/** Whether the path itself is a symbolic link. */
export function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    return false
  }
}
