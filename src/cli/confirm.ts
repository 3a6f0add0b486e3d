import { BatonError } from '../base/error.ts'
import type { CommandIo } from './io.ts'

export interface MayAsk {
  readonly noInput: boolean
  readonly json: boolean
}

/**
 * Asks for confirmation on the terminal, for example `install x`.
 * @throws BatonError NEEDS_INPUT if nobody can be asked; the reason of the signal
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

/** Whether a user is likely to be at the terminal. */
export function isAttended({ noInput, json }: MayAsk, io: Pick<CommandIo, 'errIsTerminal' | 'env'>): boolean {
  return io.errIsTerminal && !noInput && !json && (io.env['CI'] ?? '') === ''
}

/** Like `confirm`, but undefined if nobody can be asked. */
export async function ask(what: string, { noInput, json }: MayAsk, io: CommandIo): Promise<boolean | undefined> {
  const askLine = isAttended({ noInput, json }, io) ? lineAsker(io) : undefined
  if (askLine === undefined) return undefined
  return /^\s*y(?:es)?\s*$/i.test((await askLine(`${what}? [y/N] `)) ?? '')
}

/**
 * Asks a question on the terminal and resolves to the line that is typed, or to undefined if the input has ended.
 * Rejects with the reason of the signal, or of the command's own signal.
 */
export type AskLine = (question: string, signal?: AbortSignal) => Promise<string | undefined>

/** Undefined if standard input is not a terminal. */
export function lineAsker(io: CommandIo): AskLine | undefined {
  if (io.inputKind() !== 'device') return undefined
  const input = io.input()
  if (!('isTTY' in input) || input.isTTY !== true) return undefined
  return async (question, signal) => {
    const { createInterface } = await import('node:readline')
    io.err(question)
    const lines = createInterface({ input })
    const stop = signal === undefined ? io.signal : AbortSignal.any([io.signal, signal])
    let withdraw = (): void => {}
    try {
      return await new Promise<string | undefined>((resolve, reject) => {
        lines.once('line', resolve).once('close', () => resolve(undefined))
        withdraw = () => {
          // the cursor is after the question
          io.err(io.signal.aborted ? '\n' : 'withdrawn\n')
          reject(stop.reason as Error)
        }
        if (stop.aborted) withdraw()
        else stop.addEventListener('abort', withdraw, { once: true })
      })
    } finally {
      // an answered question cannot be withdrawn
      stop.removeEventListener('abort', withdraw)
      lines.close()
      input.pause()
    }
  }
}
