import { createInterface } from 'node:readline'
import { ReadStream } from 'node:tty'
import { BatonError } from '../base/error.ts'
import type { CommandIo } from './io.ts'

export interface MayAsk {
  readonly noInput: boolean
  readonly json: boolean
}

export interface Consent extends MayAsk {
  /** `-y`: everything is agreed to. */
  readonly yes: boolean
}

/**
 * Whether a person agrees to what is said, for example `install x` (DESIGN 9 "Permission"): asked on the terminal, where there is one.
 * @throws BatonError NEEDS_INPUT where nobody can be asked; the reason of the signal
 */
export async function confirm(what: string, { yes, noInput, json }: Consent, io: CommandIo): Promise<boolean> {
  if (yes) return true
  const answer = await ask(what, { noInput, json }, io)
  if (answer !== undefined) return answer
  throw new BatonError('NEEDS_INPUT', `to ${what}, someone has to agree, and nobody can be asked here`, {
    hint: 'Give -y to agree to it.',
  })
}

/** Like `confirm`; undefined where nobody can be asked. */
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
