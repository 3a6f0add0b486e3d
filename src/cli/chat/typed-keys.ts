import { harmlessName, harmlessTyped } from '../../base/terminal-text.ts'

/**
 * Represents a line break in the edited line, because a real one would send the line. Pasted text, Alt-Enter and Ctrl-J
 * insert it. It is shown as this character.
 */
const breakMark = '␊'
/** The same for a tab in pasted text, because a real one would complete. */
const tabMark = '␉'

const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'

/** Turns the terminal's bracketed paste mode on and off. */
export const pasteModeOn = '\u001b[?2004h'
export const pasteModeOff = '\u001b[?2004l'

/** Alt-Enter, Shift-Enter if the terminal distinguishes it, and Ctrl-J. */
const breakKeys = ['\u001b\r', '\u001b\n', '\u001b[13;2u', '\u001b[27;2;13~', '\n']

export interface TypedKeys {
  /** Translates terminal input, in chunks of any size, to what the line editor should get. */
  readonly translate: (piece: string) => string
  /** Whether the end of a paste has not arrived yet. */
  readonly isPasting: () => boolean
  /** Turns an edited line back into its text. */
  readonly textOf: (line: string) => string
  /** Turns a text into the line that the editor shows: characters that cannot be seen in the form `<U+200B>`. */
  readonly lineOf: (text: string) => string
}

/** The keys of a terminal, and the texts that were pasted there. */
export function createTypedKeys(): TypedKeys {
  const pastes = createLongPastes()
  let isPaste = false
  let rest = ''
  /** What has arrived of the paste in progress. */
  let paste = ''

  /** Holds back text that may be the start of a mark; an Escape alone is a key. */
  function take(piece: string, mark: string): { readonly before: string; readonly isFound: boolean } {
    const text = rest + piece
    const found = text.indexOf(mark)
    if (found !== -1) {
      rest = text.slice(found + mark.length)
      return { before: text.slice(0, found), isFound: true }
    }
    const begun = [5, 4, 3].find((length) => text.endsWith(mark.slice(0, length))) ?? 0
    rest = begun === 0 ? '' : text.slice(-begun)
    return { before: begun === 0 ? text : text.slice(0, -begun), isFound: false }
  }

  return {
    translate(piece) {
      let given = ''
      // a paste whose end was lost
      const isLost = isPaste && piece === controlC
      let left = isLost ? `${pasteEnd}${piece}` : piece
      for (;;) {
        const { before, isFound } = take(left, isPaste ? pasteEnd : pasteBegin)
        if (!isPaste) given += broken(before)
        else {
          paste += before
          if (isFound) given += marked(pastes.short(plainText(paste)))
        }
        if (!isFound) return given
        paste = ''
        isPaste = !isPaste
        left = rest
        rest = ''
      }
    },
    isPasting: () => isPaste,
    textOf: (line) => pastes.whole(unmarked(line)),
    lineOf: (text) => marked(pastes.shorten(text)),
  }
}

const controlC = '\u0003'

function broken(text: string): string {
  return breakKeys.reduce((left, key) => left.replaceAll(key, breakMark), text)
}

/** Of a terminal: colors, cursor movements, titles. */
// oxlint-disable-next-line no-control-regex
const sequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g

/** Nothing in pasted text is a key: other control sequences and characters than tabs and line breaks are removed. */
function plainText(paste: string): string {
  return paste
    .replaceAll(sequences, '')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

function unmarked(line: string): string {
  return line
    .replaceAll(breakMark, '\n')
    .replaceAll(tabMark, '\t')
    .replaceAll(/<U\+([\dA-F]{4,6})>/g, (form, code: string) => {
      const value = Number.parseInt(code, 16)
      const character = value > 0x10ffff ? '' : String.fromCodePoint(value)
      return harmlessName(character) === form ? character : form
    })
}

/** Characters that cannot be seen become visible, until the line is sent. */
function marked(text: string): string {
  return harmlessTyped(text.replaceAll('\n', breakMark).replaceAll('\t', tabMark))
}

/** More is not shown: it would fill the screen, and each key would draw it again. */
const mostLines = 10
const mostCharacters = 2_000

/** What stands for long pasted texts while a line is edited. */
interface LongPastes {
  /** What is shown of a pasted text: `[2,000 lines pasted]` if it is long. */
  readonly short: (text: string) => string
  /** A text with what is shown of the pasted texts in it. */
  readonly shorten: (text: string) => string
  /** A line with the pasted texts in it. What was changed of their names is text. */
  readonly whole: (line: string) => string
}

function createLongPastes(): LongPastes {
  /** By name. */
  const texts = new Map<string, string>()

  function nameOf(text: string): string {
    const lines = text.split('\n').length
    const [count, what] = lines > mostLines ? [lines, 'lines'] : [text.length, 'characters']
    const size = `${count.toLocaleString('en-US')} ${what} pasted`
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? `[${size}]` : `[${size}, ${number}]`
      if (!texts.has(name) || texts.get(name) === text) return name
    }
  }

  return {
    short(text) {
      if (text.length <= mostCharacters && text.split('\n').length <= mostLines) return text
      const name = nameOf(text)
      texts.set(name, text)
      return name
    },
    shorten: (text) => [...texts].reduce((left, [name, whole]) => left.replaceAll(whole, () => name), text),
    // in one pass: a pasted text may contain such a name
    whole: (line) =>
      line.replaceAll(/\[[\d,]+ (?:lines|characters) pasted(?:, \d+)?\]/g, (name) => texts.get(name) ?? name),
  }
}
