import { createInterface } from 'node:readline'
import type { CommandIo } from '../io.ts'

/** What the user has typed. */
export type Input =
  | { readonly kind: 'line'; readonly text: string }
  /** Ctrl-C on an empty line. */
  | { readonly kind: 'interrupt' }
  | { readonly kind: 'end' }

export interface ChatInput {
  /** Waits for the next message. */
  readonly next: (signal: AbortSignal) => Promise<Input>
  readonly close: () => void
}

/** A backslash at the end of a line continues the message on the next one. */
export function joiningLines(input: ChatInput): ChatInput {
  return {
    ...input,
    async next(signal) {
      let before = ''
      for (;;) {
        const given = await input.next(signal)
        if (given.kind === 'end' && before !== '') return { kind: 'line', text: before }
        if (given.kind !== 'line') return given
        if (!given.text.endsWith('\\')) return { kind: 'line', text: before + given.text }
        before += `${given.text.slice(0, -1)}\n`
      }
    },
  }
}

/** Messages from a pipe or file, one per line. */
export function pipedInput(io: Pick<CommandIo, 'input'>): ChatInput {
  const lines = createInterface({ input: io.input(), crlfDelay: Infinity })
  const reading = lines[Symbol.asyncIterator]()
  return {
    async next(signal) {
      signal.throwIfAborted()
      const { value, done } = await untilAborted(reading.next(), signal)
      return done === true ? { kind: 'end' } : { kind: 'line', text: value }
    },
    close: () => lines.close(),
  }
}

function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
