import type { CommandText, ReadCommand } from '../event/permission.ts'

/** A pattern for command lines, in which `*` stands for any characters of one command. */
export interface CommandPattern {
  /** For what allows: the whole command, with its variables, fits whatever of it is not known. */
  readonly isSure: (command: ReadCommand) => boolean
  /** For what denies or asks: `may` where only a part of the command fits, or what is not known would have to. */
  readonly match: (command: ReadCommand) => 'yes' | 'may' | 'no'
  /** Of a line that is not understood: the word that the pattern begins with is in it somewhere, or may be. */
  readonly isIn: (line: string) => boolean
}

/** A pattern that ends in ` *` is also about the command without anything behind it. */
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

  /** Whatever comes behind what is known is what the last `*` stands for. */
  function isSure({ text, isOpen }: CommandText): boolean {
    return isOpen === true ? last === '' && fits(text) : text === bare || fits(text)
  }

  function may({ text, isOpen }: CommandText): boolean {
    if (isOpen !== true) return text === bare || fits(text)
    return first.startsWith(text) || (last !== undefined && text.startsWith(first))
  }

  return {
    isSure: ({ texts: [whole] }) => isSure(whole),
    match({ texts }) {
      if (isSure(texts[0])) return 'yes'
      return texts.some(may) ? 'may' : 'no'
    },
    isIn(line) {
      const [word = ''] = first.split(' ')
      return /[$`]/.test(line) || line.replaceAll(/['"\\]/g, '').includes(word)
    },
  }
}
