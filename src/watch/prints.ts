import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { readRegularFile } from '../base/regular-file.ts'
import { sha256 } from '../base/hash.ts'

/** Returns text that is equal for equal content; null without a readable file. */
export type Prints = (path: string, part: FilePart) => string | null

/** `prompt`: the part of a prompt file below its `====` line does not count. */
export type FilePart = 'whole' | 'prompt'

interface PrintOptions {
  /** The hash of the part of a prompt file that counts. */
  readonly hashPrompt: (text: string) => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Larger files are compared by size and times: runs do not read them as text. */
const mostBytes = 32 * 1024 * 1024

/** File systems round times: a file changed this recently may change again without a new time. */
const timeStepMs = 2_000

/** Reads content again only when size, times or the place on the disk have changed. */
export function createPrints({ hashPrompt, now }: PrintOptions): Prints {
  const known = new Map<string, { readonly status: string; readonly print: string }>()
  return (path, part) => {
    const found = statusAt(path)
    if (found === undefined || !found.isFile()) return null
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
      return part === 'whole' ? sha256(bytes) : hashPrompt(bytes.toString('utf8'))
    } catch {
      // removed since, or not readable: counts as missing
      return null
    }
  }
}

function statusText({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

/** The status of a path, links followed; undefined when it does not exist or cannot be reached. */
export function statusAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether there is a folder at a path, links followed. */
export function isFolder(path: string): boolean {
  return statusAt(path)?.isDirectory() === true
}

/** Whether the path itself is a link. */
export function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    return false
  }
}
