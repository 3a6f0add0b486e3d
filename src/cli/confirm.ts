import { StringDecoder } from 'node:string_decoder'
import { BatonError } from '../base/error.ts'
import { wrapped } from '../base/width.ts'
import type { CommandIo } from './io.ts'
import { discardTyped, isTerminal, type Terminal } from './typed-ahead.ts'

export interface MayAsk {
  readonly noInput: boolean
  readonly json: boolean
  readonly unattended?: boolean
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
export function isAttended(
  { noInput, json, unattended = false }: MayAsk,
  io: Pick<CommandIo, 'errIsTerminal' | 'env'>,
): boolean {
  return io.errIsTerminal && !noInput && !json && !unattended && (io.env['CI'] ?? '') === ''
}

/** Like `confirm`, but undefined if nobody can be asked. */
export async function ask(what: string, flags: MayAsk, io: CommandIo): Promise<boolean | undefined> {
  const askLine = isAttended(flags, io) ? lineAsker(io) : undefined
  if (askLine === undefined) return undefined
  return /^\s*y(?:es)?\s*$/i.test((await askLine(`${what}? [y/N] `)) ?? '')
}

/**
 * Asks a question on the terminal and resolves to the line that is typed after it, or to undefined if the input has
 * ended. Rejects with the reason of the signal, or of the command's own signal.
 */
export type AskLine = (question: string, signal?: AbortSignal) => Promise<string | undefined>

export interface QuestionIo extends CommandIo {
  /**
   * Hands the terminal over for a question, and keeps what was typed before. Returns the function that takes the
   * terminal back. Default: what was typed before a question is discarded.
   */
  readonly lend?: (() => Promise<() => void>) | undefined
  /** Asks in the line editor that has the terminal. Default: the terminal's own line. */
  readonly askLine?: AskLine | undefined
}

/** Undefined if standard input is not a terminal. */
export function lineAsker(io: QuestionIo): AskLine | undefined {
  if (io.askLine !== undefined) return io.askLine
  if (io.inputKind() !== 'device') return undefined
  if (!isTerminal(io.input())) return undefined
  return async (question, signal) => {
    const input = io.input()
    const stop = signal === undefined ? io.signal : AbortSignal.any([io.signal, signal])
    if (!isTerminal(input) || input.readableEnded) return undefined
    // what was typed until now was not meant for a question that nobody has seen
    const takeBack = await (io.lend?.() ?? discardTyped(input, io))
    const show = (): void => io.err(wrapped(question, io.columns() - 1))
    // after Ctrl-Z and fg
    const endContinue = io.onContinue(show)
    try {
      stop.throwIfAborted()
      show()
      const line = nextLine(input, stop)
      // the cursor is after the question
      line.then(
        (text) => void (text === undefined && io.err('\n')),
        () => io.err(io.signal.aborted ? '\n' : 'withdrawn\n'),
      )
      return await line
    } finally {
      endContinue()
      input.pause()
      takeBack?.()
    }
  }
}

/** What follows the line stays in the stream. Undefined: the input has ended. */
function nextLine(input: Terminal, stop: AbortSignal): Promise<string | undefined> {
  const decoder = new StringDecoder('utf8')
  let text = ''
  let end = (): void => {}
  return new Promise<string | undefined>((resolve, reject) => {
    const onData = (piece: Buffer | string): void => {
      text += typeof piece === 'string' ? piece : decoder.write(piece)
      const [line] = /^.*?(?:\r?\n|\r)/s.exec(text) ?? []
      if (line === undefined) return
      input.pause()
      const rest = text.slice(line.length)
      if (rest !== '') input.unshift(typeof piece === 'string' ? rest : Buffer.from(rest))
      resolve(line.replace(/[\r\n]+$/, ''))
    }
    const onEnd = (): void => resolve(text === '' ? undefined : text)
    const onStop = (): void => reject(stop.reason as Error)
    input.on('data', onData).on('end', onEnd).on('error', onEnd)
    stop.addEventListener('abort', onStop, { once: true })
    end = () => {
      input.off('data', onData).off('end', onEnd).off('error', onEnd)
      // an answered question cannot be withdrawn
      stop.removeEventListener('abort', onStop)
    }
    input.resume()
  }).finally(end)
}
