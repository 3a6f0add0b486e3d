import { createInterface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import type { CommandIo } from '../io.ts'
import { deliverTyped, isTerminal } from '../typed-ahead.ts'
import type { ChatInput, Input } from './input.ts'
import type { TypedHistory } from './typed-history.ts'
import { createTypedKeys, pasteModeOff, pasteModeOn, withBreakMarks, withLineBreaks } from './typed-keys.ts'

export interface TerminalInputOptions {
  readonly io: Pick<CommandIo, 'input' | 'draw' | 'columns' | 'rows' | 'interrupt' | 'suspend' | 'onContinue'>
  /** Without colors. */
  readonly prompt: string
  readonly history: TypedHistory
  /** Completions for the text before the cursor: replacements for its last word. */
  readonly complete: (text: string) => Promise<{ readonly word: string; readonly options: readonly string[] }>
}

export interface TerminalInput extends ChatInput {
  /** What was typed while no message is awaited: the lines that wait for their turn, then the line in progress. */
  readonly typed: () => readonly string[]
  /**
   * Hands the terminal over for a question. What was typed before stays here. Returns the function that takes the
   * terminal back.
   */
  readonly lend: () => Promise<() => void>
}

/**
 * A line editor on the terminal; undefined if standard input is not a terminal. Enter sends; Alt-Enter, Ctrl-J and
 * pasted text add line breaks. It owns the terminal until it is closed, also while a message is answered: what is typed
 * then is a queue of further lines, each for one call of `next`, and a line in progress. Only questions get the keys in
 * between.
 */
export function terminalInput({ io, prompt, history, complete }: TerminalInputOptions): TerminalInput | undefined {
  const input = io.input()
  if (!isTerminal(input)) return undefined
  const terminal = input
  const keys = createTypedKeys()
  const typed = new PassThrough({ encoding: 'utf8' })
  const queue: Input[] = []
  let wanted: ((given: Input) => void) | undefined
  /** What was typed before raw mode was on has line feeds for Enter, which otherwise mean Ctrl-J. */
  let isFromBefore = true
  let isOwner = false
  let isEnded = false

  const screen = screenOf({
    ...io,
    draw: (text) => {
      if (wanted !== undefined) io.draw(text)
    },
  })
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

  function give(given: Input): void {
    if (isEnded) return
    isEnded = given.kind === 'end'
    if (wanted === undefined) queue.push(given)
    else wanted(given)
  }

  function clearLine(): void {
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
  }

  lines.on('history', (all) => {
    if (all[0]?.startsWith(' ') === true) all.shift()
  })
  lines.on('line', (line) => {
    const text = withLineBreaks(line)
    history.add(text)
    give({ kind: 'line', text })
  })
  lines.on('close', () => {
    if (wanted !== undefined) io.draw('\n')
    give({ kind: 'end' })
  })
  lines.on('SIGINT', () => {
    if (wanted === undefined) io.interrupt()
    else if (lines.line === '') give({ kind: 'interrupt' })
    // Ctrl-C discards what was typed
    else clearLine()
  })
  lines.on('SIGTSTP', () => {
    terminal.setRawMode(false)
    io.draw(pasteModeOff)
    io.suspend()
  })

  const onData = (piece: Buffer | string): void => {
    const text = keys.translate(isFromBefore ? piece.toString().replaceAll('\n', '\r') : piece.toString())
    if (text !== '') typed.write(text)
  }
  const onEnd = (): void => give({ kind: 'end' })
  // losing the terminal is reported by a signal
  const onError = (): void => undefined
  const onResize = (): void => void screen.emit('resize')
  const endContinue = io.onContinue(() => {
    if (!isOwner) return
    terminal.setRawMode(true)
    io.draw(pasteModeOn)
    if (wanted !== undefined) lines.prompt(true)
  })

  function take(): void {
    isOwner = true
    isFromBefore = true
    terminal.setRawMode(true)
    terminal.on('data', onData)
    io.draw(pasteModeOn)
    void deliverTyped(terminal).then(() => (isFromBefore = false))
  }

  function release(): void {
    isOwner = false
    terminal.off('data', onData)
    terminal.setRawMode(false)
    terminal.pause()
    io.draw(pasteModeOff)
  }

  /** Shows the prompt with the line in progress, which was edited unseen. */
  function showLine(): void {
    const draft = lines.line
    const back = draft.length - lines.cursor
    const show = wanted
    wanted = undefined
    clearLine()
    wanted = show
    io.draw(pasteModeOn)
    lines.prompt()
    // a terminal that cannot move its cursor cannot clear a line either
    if (lines.line !== '') io.draw(lines.line)
    else if (draft !== '') lines.write(draft)
    for (let left = 0; left < back; left += 1) lines.write(null, { name: 'left' })
  }

  terminal.setEncoding('utf8')
  terminal.on('end', onEnd).on('error', onError)
  process.on('SIGWINCH', onResize)
  take()

  return {
    next(signal) {
      signal.throwIfAborted()
      const first = queue.shift()
      if (first?.kind === 'line') io.draw(`${prompt}${withBreakMarks(first.text)}\n`)
      if (first !== undefined) return Promise.resolve(first)
      if (isEnded) return Promise.resolve({ kind: 'end' })
      return new Promise<Input>((resolve, reject) => {
        const stop = (): void => {
          wanted = undefined
          reject(signal.reason as Error)
        }
        signal.addEventListener('abort', stop, { once: true })
        wanted = (given) => {
          signal.removeEventListener('abort', stop)
          wanted = undefined
          resolve(given)
        }
        showLine()
      })
    },
    typed() {
      const waiting = queue.flatMap((given) => (given.kind === 'line' ? [withBreakMarks(given.text)] : []))
      return [...waiting, ...(lines.line === '' ? [] : [lines.line])].map((line) => `${prompt}${line}`)
    },
    async lend() {
      do await deliverTyped(terminal)
      while (keys.isPasting() && (await morePasted(terminal)))
      release()
      return take
    },
    close() {
      isEnded = true
      lines.close()
      endContinue()
      terminal.off('end', onEnd).off('error', onError)
      process.off('SIGWINCH', onResize)
      release()
    },
  }
}

/** How long the next piece of a paste may take; a mark without its end is no reason to wait longer. */
const pasteMs = 500

/** Whether another piece arrived. */
function morePasted(terminal: NodeJS.EventEmitter): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isMore: boolean): void => {
      clearTimeout(timer)
      terminal.off('data', onData)
      resolve(isMore)
    }
    const onData = (): void => end(true)
    const timer = setTimeout(() => end(false), pasteMs)
    terminal.on('data', onData)
  })
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
