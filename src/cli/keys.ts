import type { Readable } from 'node:stream'
import { ReadStream } from 'node:tty'

export interface KeyHandlers {
  readonly onKey: (key: string) => void
  /** Ctrl-C, which is a key like others while each is given at once. */
  readonly onInterrupt: () => void
}

const controlC = '\u0003'

/** Gives each key as it is pressed. Undefined when the stream is no terminal; else the function that ends it. */
export function readKeys(input: Readable, { onKey, onInterrupt }: KeyHandlers): (() => void) | undefined {
  if (!(input instanceof ReadStream)) return undefined
  const onData = (bytes: Buffer): void => {
    for (const key of bytes.toString('utf8')) {
      if (key === controlC) onInterrupt()
      else onKey(key)
    }
  }
  // a terminal that has gone is noticed by its signal
  const onError = (): void => undefined
  input.setRawMode(true)
  input.on('data', onData).on('error', onError)
  return () => {
    input.off('data', onData).off('error', onError)
    input.setRawMode(false)
    input.pause()
  }
}
