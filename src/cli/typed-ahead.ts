import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CommandIo } from './io.ts'

/** Standard input as a terminal. */
export type Terminal = Readable & { readonly setRawMode: (isRaw: boolean) => unknown }

export function isTerminal(input: Readable): input is Terminal {
  return 'isTTY' in input && input.isTTY === true && 'setRawMode' in input
}

/**
 * Resolves once a terminal in raw mode has delivered everything that was typed so far, whether it was sent with Enter or
 * not: the terminal keeps typed lines until somebody reads them, and a line without its Enter until raw mode is on.
 */
export async function deliverTyped(terminal: Terminal): Promise<void> {
  let isQuiet: boolean
  const onData = (): void => void (isQuiet = false)
  terminal.on('data', onData)
  terminal.resume()
  try {
    do {
      isQuiet = true
      // a stream starts to read in the next turn at the latest, and the terminal is read in the turn after that
      for (let turn = 0; turn < 3; turn += 1) await nextTurn()
    } while (!isQuiet)
  } finally {
    terminal.off('data', onData)
  }
}

const controlC = '\u0003'

/** Discards what was typed so far, except for Ctrl-C, which raw mode reports as a key. */
export async function discardTyped(terminal: Terminal, { interrupt }: Pick<CommandIo, 'interrupt'>): Promise<void> {
  const onData = (piece: Buffer | string): void => {
    if (piece.includes(controlC)) interrupt()
  }
  terminal.setRawMode(true)
  terminal.on('data', onData)
  try {
    await deliverTyped(terminal)
  } finally {
    terminal.off('data', onData)
    terminal.setRawMode(false)
    terminal.pause()
  }
}
