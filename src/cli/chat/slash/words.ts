import { usageError } from '../../command.ts'

/** A word of a chat command. `end`: where it ends in the text, including its quotes. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * Splits a text into words at spaces. Quotes (`"…"`, `'…'`) group several words into one. A backslash escapes the next
 * quote, backslash or space.
 * @throws BatonError USAGE for a quote that is not closed
 */
export function wordsOf(text: string): readonly Word[] {
  const words: Word[] = []
  let at = 0
  for (;;) {
    while (at < text.length && /\s/.test(text[at] ?? '')) at += 1
    if (at >= text.length) return words
    const word = readWord(text, at)
    words.push(word)
    at = word.end
  }
}

function readWord(text: string, start: number): Word {
  let said = ''
  let quote: { readonly mark: string; readonly at: number } | undefined
  let at = start
  for (; at < text.length; at += 1) {
    const character = text[at] ?? ''
    const next = text[at + 1] ?? ''
    if (character === '\\' && /["'\\\s]/.test(next)) {
      said += next
      at += 1
    } else if (character === quote?.mark) quote = undefined
    // a quote inside a word is an apostrophe
    else if (at === start && (character === '"' || character === "'")) quote = { mark: character, at }
    else if (quote === undefined && /\s/.test(character)) break
    else said += character
  }
  if (quote !== undefined) {
    throw usageError(
      `the quote ${quote.mark} at column ${quote.at + 1} is not closed: ${text.slice(quote.at)}`,
      `Close it with ${quote.mark}, or write \\${quote.mark} for the character itself.`,
    )
  }
  return { text: said, start, end: at }
}
