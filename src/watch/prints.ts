import { type BigIntStats, readFileSync } from 'node:fs'
import { sha256 } from '../base/hash.ts'
import { statusAt } from './status.ts'

/** Gives text that is equal for equal content; null where there is no file that can be read. */
export type Prints = (path: string, part: FilePart) => string | null

/** `prompt`: what stands below the `====` line of a prompt file does not count. */
export type FilePart = 'whole' | 'prompt'

export interface PrintOptions {
  /** The hash of the part of a prompt file that counts. */
  readonly hashPrompt: (text: string) => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** What is larger is told apart by its size and times: nothing that a run reads as text is. */
const mostBytes = 32 * 1024 * 1024

/** File systems keep times in steps: a file changed so short a while ago may change again and keep its time. */
const timeStepMs = 2_000

/** Content is read once for as long as size, times and place on the disk stay the same. */
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
      const bytes = readFileSync(path)
      return part === 'whole' ? sha256(bytes) : hashPrompt(bytes.toString('utf8'))
    } catch {
      // gone since, or not for us: what cannot be read is as good as not there
      return null
    }
  }
}

function statusText({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}
