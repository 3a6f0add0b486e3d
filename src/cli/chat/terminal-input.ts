import { createInterface, emitKeypressEvents, type Interface, type Key } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { StopSignal } from '../../base/error.ts'
import { guarded } from '../../base/terminal-text.ts'
import { widthOf, wrapped } from '../../base/width.ts'
import type { BelowLine } from '../../render/live.ts'
import type { AskLine } from '../confirm.ts'
import { type CommandIo, isWatched } from '../io.ts'
import { deliverTyped, isTerminal } from '../typed-ahead.ts'
import type { ChatInput, Input } from './input.ts'
import {
  emptyQueue,
  isEmpty,
  type LineQueue,
  queueTexts,
  dequeue,
  dequeueLast,
  withHold,
  withSent,
} from './line-queue.ts'
import type { TypedHistory } from './typed-history.ts'
import { createTypedKeys, pasteModeOff, pasteModeOn } from './typed-keys.ts'

export interface TerminalInputOptions {
  readonly io: Pick<
    CommandIo,
    | 'env'
    | 'errIsTerminal'
    | 'input'
    | 'err'
    | 'draw'
    | 'columns'
    | 'rows'
    | 'interrupt'
    | 'suspend'
    | 'onContinue'
    | 'signal'
  >
  /** Without colors. */
  readonly prompt: string
  readonly history: TypedHistory
  /** Completions for the text before the cursor: replacements for its last word. */
  readonly complete: (text: string) => Promise<{ readonly word: string; readonly options: readonly string[] }>
}

export interface TerminalInput extends ChatInput {
  /** What was typed while no message is awaited: the queue, then the line in progress. */
  readonly typed: () => readonly BelowLine[]
  /** The queue, if Ctrl-C has held it: empty if it is taken from. */
  readonly held: () => readonly string[]
  /** What was typed and not given out: the lines of the queue, and the line in progress. */
  readonly unsent: () => readonly string[]
  /** Asks a question. What was typed before is no answer to it, and what was not sent is back after it. */
  readonly askLine: AskLine
  /** Hands the terminal over to another program. Returns the function that takes it back. */
  readonly lend: () => Promise<() => void>
}

/** A question on the terminal. */
interface Asked {
  readonly onKey: (text: string | undefined, key: Key) => void
  readonly screen: Writable
  /** Shows it again. */
  readonly show: () => void
  readonly end: () => void
}

/**
 * A line editor on the terminal; undefined if standard input is not a terminal. Enter sends; Alt-Enter, Ctrl-J and
 * pasted text add line breaks, and so does Enter after a backslash. It owns the terminal until it is closed, also while
 * a message is answered: what is sent then is a queue of further lines, each for one call of `next`. A question has a
 * line of its own; each key goes to the line that was on the screen when it was pressed.
 */
export function terminalInput({ io, prompt, history, complete }: TerminalInputOptions): TerminalInput | undefined {
  const input = io.input()
  if (!isTerminal(input)) return undefined
  const terminal = input
  const keys = createTypedKeys()
  const typed = new PassThrough({ encoding: 'utf8' })
  /** Gets the keys of messages as events. */
  const edited = new PassThrough({ encoding: 'utf8' })
  let queue: LineQueue = emptyQueue
  /** Lines that ended with a backslash. */
  let before = ''
  let wanted: ((given: Input) => void) | undefined
  let asked: Asked | undefined
  /** What was typed before raw mode was on has line feeds for Enter, which otherwise mean Ctrl-J. */
  let isFromBefore = true
  let isEnded = false
  let isMuted = false
  const isDumb = io.env['TERM'] === 'dumb'

  const screen = screenOf({
    ...io,
    draw: (text) => {
      if (wanted !== undefined && !isMuted) io.draw(text)
    },
  })
  const lines = createInterface({
    input: edited,
    output: screen,
    terminal: true,
    prompt,
    history: history.lines().toReversed().map(keys.lineOf),
    historySize: 1000,
    completer(text: string, done: (error: null, result: [string[], string]) => void) {
      complete(text).then(
        ({ word, options }) => done(null, [[...options], word]),
        () => done(null, [[], text]),
      )
    },
  })

  function give(given: Input): void {
    isEnded ||= given.kind === 'end'
    wanted?.(given)
  }

  function clearLine(): void {
    before = ''
    if (isDumb) return setLine(lines, '')
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
  }

  function draft(): string {
    return keys.lineOf(before) + lines.line
  }

  function onInterrupt(): void {
    if (wanted === undefined) {
      queue = withHold(queue)
      io.interrupt()
    } else if (draft() === '') give({ kind: 'interrupt' })
    // Ctrl-C discards what was typed
    else discard()
  }

  function discard(): void {
    clearLine()
    if (!isDumb || wanted === undefined) return
    io.draw('\n')
    lines.prompt()
  }

  /** Ctrl-D on an empty line. */
  function onEndKey(): void {
    if (wanted !== undefined) io.draw('\n')
    if (before !== '') send(before)
    else if (wanted !== undefined) give({ kind: 'end' })
    else queue = { ...queue, ends: true }
  }

  function takeBack(): void {
    const back = dequeueLast(queue)
    queue = back.queue
    if (back.line !== undefined) lines.write(keys.lineOf(back.line))
  }

  function onKey(text: string | undefined, key: Key): void {
    if (isKey(key, 'z') && process.platform !== 'win32') return suspend()
    if (asked !== undefined) return asked.onKey(text, key)
    if (isKey(key, 'c')) onInterrupt()
    else if (isKey(key, 'd') && lines.line === '') onEndKey()
    else if (draft() === '' && !isEmpty(queue) && (key.name === 'up' || isKey(key, 'p'))) takeBack()
    else if (isDumb && isKey(key, 'u')) discard()
    else if (isDumb && key.name === 'backspace') eraseLast(lines, screen)
    // nothing is sent after the end
    else if (wanted !== undefined || !queue.ends || queue.isHeld) edited.emit('keypress', text, key)
  }

  /** Enter, which a line that is awaited has shown on the screen. */
  function send(text: string): void {
    before = ''
    history.add(text)
    queue = withSent(queue, text)
    if (wanted === undefined) {
      if (text.trim() !== '' && !isWatched(io)) io.err(`queued: ${keys.lineOf(text)}\n`)
      return
    }
    const step = dequeue(queue)
    if (step === undefined) return lines.prompt()
    queue = step.queue
    if (text.trim() === '') echo(step.next)
    give(step.next)
  }

  function echo(given: Input): void {
    if (given.kind === 'line') io.draw(`${prompt}${keys.lineOf(given.text)}\n`)
  }

  lines.on('history', (all) => {
    if (all[0]?.startsWith(' ') === true) all.shift()
  })
  lines.on('line', (line) => {
    const text = before + keys.textOf(line)
    if (!text.endsWith('\\')) return send(text)
    before = `${text.slice(0, -1)}\n`
    if (wanted !== undefined) lines.prompt()
  })
  // if it knew the editor, that would add all but the last of several keys at the end of the line, wherever the cursor is
  emitKeypressEvents(typed, {} as Interface)
  typed.on('keypress', onKey)

  function suspend(): void {
    terminal.setRawMode(false)
    io.draw(pasteModeOff)
    io.suspend()
  }

  const onData = (piece: Buffer | string): void => {
    // a program that sends whole lines, such as a shell in an editor, ends them with a line feed
    const text = keys.translate(isFromBefore || isDumb ? piece.toString().replaceAll('\n', '\r') : piece.toString())
    if (text !== '') typed.write(text)
  }
  const onEnd = (): void => {
    isEnded = true
    asked?.end()
    wanted?.({ kind: 'end' })
  }
  // losing the terminal is reported by a signal
  const onError = (): void => undefined
  const onResize = (): void => {
    for (const one of [screen, asked?.screen]) one?.emit('resize')
  }
  const endContinue = io.onContinue(() => {
    take()
    if (asked !== undefined) asked.show()
    else if (wanted !== undefined) lines.prompt(true)
  })

  function take(): void {
    isFromBefore = true
    terminal.setRawMode(true)
    io.draw(pasteModeOn)
    void deliverTyped(terminal).then(() => (isFromBefore = false))
  }

  function release(): void {
    terminal.setRawMode(false)
    terminal.pause()
    io.draw(pasteModeOff)
  }

  /** Shows the prompt with the line in progress, which was edited unseen. */
  function showLine(): void {
    const { line, cursor } = lines
    const begun = before
    isMuted = true
    clearLine()
    isMuted = false
    before = begun
    if (begun !== '') echo({ kind: 'line', text: begun })
    io.draw(pasteModeOn)
    lines.prompt()
    // a terminal that cannot move its cursor cannot clear a line either
    if (lines.line !== '') io.draw(lines.line)
    else if (line !== '') lines.write(line)
    for (let left = line.length - cursor; left > 0; left -= 1) lines.write(null, { name: 'left' })
  }

  /** Resolves to the line that is typed from now on; undefined: Ctrl-D on an empty one, which ends the chat. */
  function answerTo(question: string, stop: AbortSignal): Promise<string | undefined> {
    const answered = new PassThrough({ encoding: 'utf8' })
    const own = screenOf(io)
    const answer = createInterface({
      input: answered,
      output: own,
      terminal: true,
      prompt: guarded(wrapped(question, io.columns() - 1)),
      historySize: 0,
    })
    return new Promise<string | undefined>((resolve, reject) => {
      function end(finish: () => void): void {
        if (asked === undefined) return
        asked = undefined
        stop.removeEventListener('abort', onStop)
        answer.close()
        finish()
      }
      function leave(): void {
        isEnded = true
        io.draw('\n')
        end(() => resolve(undefined))
      }
      function onStop(): void {
        const gap = answer.line === '' ? '' : ' '
        io.draw(stop.reason instanceof StopSignal ? '\n' : `${gap}withdrawn\n`)
        end(() => reject(stop.reason as Error))
      }
      asked = {
        screen: own,
        show: () => answer.prompt(true),
        end: leave,
        onKey(text, key) {
          if (isKey(key, 'c')) onInterrupt()
          else if (isKey(key, 'd') && answer.line === '') leave()
          else if (isDumb && key.name === 'backspace') eraseLast(answer, own)
          else answered.emit('keypress', text, key)
        },
      }
      answer.on('line', (line) => end(() => resolve(keys.textOf(line))))
      stop.addEventListener('abort', onStop)
      answer.prompt()
    })
  }

  terminal.setEncoding('utf8')
  terminal.on('data', onData).on('end', onEnd).on('error', onError)
  process.on('SIGWINCH', onResize)
  take()

  return {
    next(signal) {
      signal.throwIfAborted()
      if (isEnded) return Promise.resolve({ kind: 'end' })
      const step = dequeue(queue)
      if (step !== undefined) {
        queue = step.queue
        echo(step.next)
        give(step.next)
        return Promise.resolve(step.next)
      }
      return new Promise<Input>((resolve, reject) => {
        const stop = (): void => {
          wanted = undefined
          io.draw('\n')
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
      const waiting = queueTexts(queue, keys.lineOf).map((text) => ({ text, isQueued: true }))
      return draft() === '' ? waiting : [...waiting, { text: prompt + draft(), isQueued: false }]
    },
    held: () => (queue.isHeld ? queueTexts(queue, keys.lineOf) : []),
    unsent: () => [...queue.lines.map(keys.lineOf), draft()].filter((line) => line !== ''),
    async askLine(question, signal) {
      const stop = signal === undefined ? io.signal : AbortSignal.any([io.signal, signal])
      // what was typed until now was not meant for a question that nobody has seen
      do await deliverTyped(terminal)
      while (keys.isPasting() && (await morePasted(terminal)))
      stop.throwIfAborted()
      return isEnded ? undefined : answerTo(question, stop)
    },
    async lend() {
      release()
      return take
    },
    close() {
      isEnded = true
      // the next chat recalls it
      if (draft() !== '') history.add(keys.textOf(draft()))
      lines.close()
      endContinue()
      terminal.off('data', onData).off('end', onEnd).off('error', onError)
      process.off('SIGWINCH', onResize)
      release()
    },
  }
}

/*
 * Node's editor only adds characters on a terminal that cannot move its cursor.
 */

function setLine(editor: Interface, line: string): void {
  Object.assign(editor, { line, cursor: line.length })
}

/** Such a terminal can still go one column back. */
function eraseLast(editor: Interface, screen: Writable): void {
  const characters = Array.from(new Intl.Segmenter().segment(editor.line), ({ segment }) => segment)
  const last = characters.pop()
  if (last === undefined) return
  setLine(editor, characters.join(''))
  screen.write('\b \b'.repeat(Math.max(1, widthOf(last))))
}

function isKey({ ctrl, name }: Key, control: string): boolean {
  return ctrl === true && name === control
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
