import type { FilePort } from './file-port.ts'
import { writeAll } from './transfer.ts'

/**
 * A file with its header: already open, or created together with its first lines, so that no reader ever sees it without
 * them. `first` returns these lines, once.
 */
export type LineFile =
  | { readonly type: 'open'; readonly descriptor: number }
  | { readonly type: 'lazy'; readonly open: (first: () => Buffer) => number }

/** The growing end of a file: lines that wait to be written, in order. Every method may throw a system error. */
export interface Tail {
  /** Takes a line. If too many lines wait, writes them all, so that memory stays bounded. */
  readonly add: (line: string) => void
  readonly hasWaiting: () => boolean
  /** Creates the file with the waiting lines if it does not exist yet. Returns its descriptor. */
  readonly open: () => number
  readonly writeOut: () => void
  /** Discards the waiting lines. */
  readonly drop: () => void
  readonly close: () => void
}

/** Characters that may wait. */
const maxWaiting = 256 * 1024

/** `sign` returns the line that signs lines which are about to be written. */
export function createTail(file: LineFile, files: FilePort, sign?: (lines: Buffer) => string): Tail {
  let waiting: string[] = []
  let size = 0
  let descriptor = file.type === 'open' ? file.descriptor : undefined

  function open(): number {
    if (descriptor === undefined && file.type === 'lazy') descriptor = file.open(takeLines)
    if (descriptor === undefined) throw new Error('the file is closed')
    return descriptor
  }

  function drop(): void {
    waiting = []
    size = 0
  }

  /** The waiting lines with their signature. */
  function takeLines(): Buffer {
    const lines = Buffer.from(waiting.join(''))
    drop()
    return sign === undefined || lines.length === 0 ? lines : Buffer.concat([lines, Buffer.from(sign(lines))])
  }

  function writeOut(): void {
    if (waiting.length === 0) return
    const descriptor = open()
    const lines = takeLines()
    if (lines.length > 0) writeAll(files, descriptor, lines)
  }

  return {
    add(line) {
      waiting.push(line)
      size += line.length
      if (size > maxWaiting) writeOut()
    },
    hasWaiting: () => waiting.length > 0,
    open,
    writeOut,
    drop,
    close() {
      if (descriptor !== undefined) files.close(descriptor)
    },
  }
}
