import type { Readable } from 'node:stream'
import { ReadStream } from 'node:tty'

export interface KeyHandlers {
  readonly onKey: (key: string) => void
  /** Ctrl-C, which is a key like others while each is given at once; so is Ctrl-Z. */
  readonly onInterrupt: () => void
  readonly onSuspend: () => void
  /** Tells when the process goes on after it was stopped; gives the function that ends that. */
  readonly onContinue: (listener: () => void) => () => void
}

const controlC = '\u0003'
const controlZ = '\u001a'

/** Gives each key as it is pressed. Undefined when the stream is no terminal; else the function that ends it. */
export function readKeys(
  input: Readable,
  { onKey, onInterrupt, onSuspend, onContinue }: KeyHandlers,
): (() => void) | undefined {
  if (!(input instanceof ReadStream)) return undefined
  const onData = (bytes: Buffer): void => {
    for (const key of bytes.toString('utf8')) {
      if (key === controlC) onInterrupt()
      else if (key === controlZ) suspend()
      else onKey(key)
    }
  }
  const suspend = (): void => {
    input.setRawMode(false)
    onSuspend()
  }
  // the shell has set the terminal up for itself meanwhile
  const endContinue = onContinue(() => void input.setRawMode(true))
  // a terminal that has gone is noticed by its signal
  const onError = (): void => undefined
  input.setRawMode(true)
  input.on('data', onData).on('error', onError)
  return () => {
    endContinue()
    input.off('data', onData).off('error', onError)
    input.setRawMode(false)
    input.pause()
  }
}
