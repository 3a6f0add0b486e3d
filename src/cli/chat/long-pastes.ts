/** More is not shown: it would fill the screen, and each key would draw it again. */
const mostLines = 10
const mostCharacters = 2_000

/** What stands for long pasted texts while a line is edited. */
export interface LongPastes {
  /** What is shown of a pasted text: `[2,000 lines pasted]` if it is long. */
  readonly short: (text: string) => string
  /** A text with what is shown of the pasted texts in it. */
  readonly shorten: (text: string) => string
  /** A line with the pasted texts in it. What was changed of their names is text. */
  readonly whole: (line: string) => string
}

export function createLongPastes(): LongPastes {
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
