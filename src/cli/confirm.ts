import { createInterface } from 'node:readline'
import { ReadStream } from 'node:tty'
import { BatonError } from '../base/error.ts'
import type { CommandIo } from './io.ts'

export interface MayAsk {
  readonly noInput: boolean
  readonly json: boolean
}

/**
 * Asks for confirmation on the terminal, for example `install x`.
 * @throws BatonError NEEDS_INPUT where no one can be asked; the reason of the signal
 */
export async function confirm(
  what: string,
  { yes, ...flags }: MayAsk & { readonly yes: boolean },
  io: CommandIo,
): Promise<boolean> {
  if (yes) return true
  const answer = await ask(what, flags, io)
  if (answer !== undefined) return answer
  throw new BatonError('NEEDS_INPUT', `confirmation is needed to ${what}, and there is no terminal to ask on`, {
    hint: 'Use -y to confirm.',
  })
}

/** Like `confirm`; undefined where no one can be asked. */
export async function ask(what: string, { noInput, json }: MayAsk, io: CommandIo): Promise<boolean | undefined> {
  const mayAsk = io.errIsTerminal && !noInput && !json && (io.env['CI'] ?? '') === ''
  const input = mayAsk ? io.input() : undefined
  if (!(input instanceof ReadStream)) return undefined
  io.err(`${what}? [y/N] `)
  const lines = createInterface({ input })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve).once('close', () => resolve(''))
      io.signal.addEventListener('abort', () => reject(io.signal.reason as Error), { once: true })
    })
    return /^\s*y(?:es)?\s*$/i.test(answer)
  } finally {
    lines.close()
    input.pause()
  }
}
