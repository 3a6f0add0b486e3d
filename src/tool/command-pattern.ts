import type { CommandText, ReadCommand } from '../event/permission.ts'

/** A pattern for command lines; `*` matches any characters of one command. */
export interface CommandPattern {
  /** For allowing: the whole command, with its variables, matches whatever its unknown parts are. */
  readonly isSure: (command: ReadCommand) => boolean
  /** For denying or asking: `may` if only a part of the command matches, `unsure` if its unknown part might. */
  readonly match: (command: ReadCommand) => 'yes' | 'may' | 'unsure' | 'no'
  /** For a line that could not be parsed: whether it contains the first word of the pattern. */
  readonly isIn: (line: string) => boolean
}

/** A pattern that ends in ` *` also matches the command without arguments. */
export function compileCommandPattern(written: string): CommandPattern {
  const pattern = written.trim().replaceAll(/\s+/g, ' ')
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.at(-1)
  const bare = pattern.endsWith(' *') && parts.length === 1 ? first.trimEnd() : undefined

  function fits(text: string): boolean {
    if (!text.startsWith(first)) return false
    if (last === undefined) return text === first
    let from = first.length
    for (const part of parts.slice(0, -1)) {
      const found = text.indexOf(part, from)
      if (found === -1) return false
      from = found + part.length
    }
    return text.length - last.length >= from && text.endsWith(last)
  }

  /** Any unknown rest is covered by the final `*`. */
  function isSure({ text, isOpen }: CommandText): boolean {
    return isOpen === true ? last === '' && fits(text) : text === bare || fits(text)
  }

  function might({ text, isOpen }: CommandText): boolean {
    return isOpen === true && (first.startsWith(text) || (last !== undefined && text.startsWith(first)))
  }

  return {
    isSure: ({ texts: [whole] }) => isSure(whole),
    match({ texts }) {
      if (isSure(texts[0])) return 'yes'
      if (texts.some(isSure)) return 'may'
      return texts.some(might) ? 'unsure' : 'no'
    },
    isIn(line) {
      const [word = ''] = first.split(' ')
      return line
        .replaceAll('\\\n', '')
        .replaceAll(/['"\\]/g, '')
        .includes(word)
    },
  }
}
