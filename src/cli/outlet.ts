import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { OutputLost } from '../base/stop.ts'

/** Where the result of a command goes. */
export interface Outlet {
  readonly write: (text: string) => void
  /** Resolves once everything is written, with what kept that from being so. Never rejects. */
  readonly end: () => Promise<OutputLost | undefined>
}

export interface OutletOptions {
  readonly stream: Writable
  /** The descriptor that the stream writes to. */
  readonly descriptor: number
  /** Called once, during the write that fails or later. What is written afterwards goes nowhere: it would leave a hole. */
  readonly onLost: (lost: OutputLost) => void
}

/** Notices when not everything arrives (DESIGN 12 "a full disk"). Streams tell that after the write, and after its end. */
export function createOutlet({ stream, descriptor, onLost }: OutletOptions): Outlet {
  const isFile = leadsToFile(descriptor) && !('isTTY' in stream && stream.isTTY === true)
  let lost: OutputLost | undefined
  let open = 0
  let told: (() => void) | undefined

  function lose(error: Error): void {
    if (lost !== undefined) return
    lost = new OutputLost(error)
    onLost(lost)
  }

  function written(error: Error | null | undefined): void {
    open -= 1
    if (error) lose(error)
    if (open === 0) told?.()
  }

  stream.on('error', lose)
  return {
    write(text) {
      if (lost !== undefined) return
      if (isFile) return writeAll(descriptor, text, lose)
      open += 1
      stream.write(text, written)
    },
    async end() {
      if (open > 0) await new Promise<void>((resolve) => (told = resolve))
      return lost
    },
  }
}

/** A file or device. The stream that Node makes of one leaves out what did not fit in the first try, and says nothing. */
function leadsToFile(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor)
    return status.isFile() || status.isCharacterDevice()
  } catch {
    return false
  }
}

function writeAll(descriptor: number, text: string, onError: (error: Error) => void): void {
  const bytes = Buffer.from(text)
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    onError(error)
  }
}
