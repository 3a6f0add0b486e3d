import { createInterface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { ReadStream } from 'node:tty'
import type { CommandIo } from '../io.ts'
import type { ChatInput, Input } from './input.ts'
import type { TypedHistory } from './typed-history.ts'
import { createTypedKeys, pasteModeOff, pasteModeOn, withBreakMarks, withLineBreaks } from './typed-keys.ts'

export interface TerminalInputOptions {
  readonly io: Pick<CommandIo, 'input' | 'draw' | 'columns' | 'rows'>
  /** Without colors. */
  readonly prompt: string
  readonly history: TypedHistory
  /** Completions for the text before the cursor: replacements for its last word. */
  readonly complete: (text: string) => Promise<{ readonly word: string; readonly options: readonly string[] }>
}

/**
 * Input this soon after the start was typed before it, when the terminal still turned Enter into the line feed that
 * otherwise means Ctrl-J.
 */
const typedAheadMs = 200

/**
 * A line editor on the terminal; undefined if standard input is not a terminal. Enter sends; Alt-Enter, Ctrl-J and
 * pasted text add line breaks. It owns the terminal only while it waits, so that questions in between get their keys.
 */
export function terminalInput({ io, prompt, history, complete }: TerminalInputOptions): ChatInput | undefined {
  const terminal = io.input()
  if (!(terminal instanceof ReadStream)) return undefined
  return {
    next: (signal) => readOne(terminal, signal),
    close: () => terminal.pause(),
  }

  function readOne(from: ReadStream, signal: AbortSignal): Promise<Input> {
    const keys = createTypedKeys()
    const typed = new PassThrough({ encoding: 'utf8' })
    const screen = screenOf(io)
    const startedAt = performance.now()
    let isFirst = true
    const onData = (bytes: Buffer | string): void => {
      const text = bytes.toString()
      const isTypedAhead = isFirst && performance.now() - startedAt < typedAheadMs
      isFirst = false
      typed.write(keys(isTypedAhead ? text.replace(/\n$/, '\r') : text))
    }
    const onResize = (): void => void screen.emit('resize')
    const lines = createInterface({
      input: typed,
      output: screen,
      terminal: true,
      prompt,
      history: history.lines().toReversed().map(withBreakMarks),
      historySize: 1000,
      completer(text: string, done: (error: null, result: [string[], string]) => void) {
        complete(text).then(
          ({ word, options }) => done(null, [[...options], word]),
          () => done(null, [[], text]),
        )
      },
    })
    from.setRawMode(true)
    from.setEncoding('utf8')
    from.on('data', onData)
    process.on('SIGWINCH', onResize)
    io.draw(pasteModeOn)
    from.resume()
    lines.prompt()
    return new Promise<Input>((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error)
      signal.addEventListener('abort', stop, { once: true })
      from.once('end', () => resolve({ kind: 'end' }))
      lines.once('line', (line) => {
        const text = withLineBreaks(line)
        history.add(text)
        resolve({ kind: 'line', text })
      })
      lines.once('close', () => {
        io.draw('\n')
        resolve({ kind: 'end' })
      })
      lines.on('SIGINT', () => {
        if (lines.line === '') return resolve({ kind: 'interrupt' })
        // Ctrl-C discards what was typed
        lines.write(null, { ctrl: true, name: 'e' })
        lines.write(null, { ctrl: true, name: 'u' })
      })
    }).finally(() => {
      lines.removeAllListeners()
      lines.close()
      from.off('data', onData)
      process.off('SIGWINCH', onResize)
      from.setRawMode(false)
      from.pause()
      io.draw(pasteModeOff)
    })
  }
}

/** The terminal on stderr, as a line editor needs it. */
function screenOf({ draw, columns, rows }: Pick<CommandIo, 'draw' | 'columns' | 'rows'>): Writable {
  const screen = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _, done) {
      draw(text.toString())
      done()
    },
  })
  Object.defineProperties(screen, { columns: { get: columns }, rows: { get: rows }, isTTY: { value: true } })
  return screen
}
