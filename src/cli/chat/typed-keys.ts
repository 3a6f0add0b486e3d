/**
 * Stands for a line break in the line that is edited, where a line break would send it: in a paste, and by Alt-Enter or
 * Ctrl-J. It shows itself.
 */
const breakMark = '␊'

const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'

/** Switches the terminal to telling pastes from typing, and back. */
export const pasteModeOn = '\u001b[?2004h'
export const pasteModeOff = '\u001b[?2004l'

/** Alt-Enter, Shift-Enter where terminals tell it apart, and Ctrl-J. */
const breakKeys = ['\u001b\r', '\u001b\n', '\u001b[13;2u', '\u001b[27;2;13~', '\n']

/** Reads what a terminal sends, in whatever pieces, and gives what the line editor is to get for it. */
export function createTypedKeys(): (piece: string) => string {
  let isPaste = false
  let rest = ''

  /** Text that may be the beginning of a mark waits for what follows; an Escape alone is a key. */
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

  return (piece) => {
    let given = ''
    let left = piece
    for (;;) {
      const { before, isFound } = take(left, isPaste ? pasteEnd : pasteBegin)
      given += isPaste ? pasted(before) : broken(before)
      if (!isFound) return given
      isPaste = !isPaste
      left = rest
      rest = ''
    }
  }
}

function broken(text: string): string {
  return breakKeys.reduce((left, key) => left.replaceAll(key, breakMark), text)
}

/** Nothing in a paste is a key: no control character gets through, and a tab completes nothing. */
function pasted(text: string): string {
  return text
    .replaceAll(/\r\n?|\n/g, breakMark)
    .replaceAll('\t', '    ')
    .replaceAll(/\p{Cc}/gu, '')
}

/** The text of a line that was edited. */
export function withLineBreaks(line: string): string {
  return line.replaceAll(breakMark, '\n')
}

/** A text as the line editor shows it. */
export function withBreakMarks(text: string): string {
  return text.replaceAll('\n', breakMark)
}
