/**
 * Removes these characters from the end of a text. Unlike a pattern, it is not slowed down by long runs of them
 * elsewhere.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** The white space of HTML that is trimmed. */
export const blanks = ' \t\r\n'

export function trimNewlines(text: string): string {
  return withoutEnd(text.replace(/^\n+/, ''), '\n')
}

export function trimBlanks(text: string): string {
  return withoutEnd(text.replace(/^[ \t\r\n]+/, ''), blanks)
}

/** Markdown under construction, in pieces: only its end is inspected, however long it is. */
export class MarkdownOutput {
  readonly #pieces: string[] = []
  length = 0

  text(): string {
    return this.#pieces.join('')
  }

  endsWith(character: string): boolean {
    return this.#pieces.at(-1)?.endsWith(character) ?? false
  }

  add(text: string): void {
    if (text === '') return
    this.#pieces.push(text)
    this.length += text.length
  }

  /** Removes these characters from the end and returns how many were removed. */
  trimEnd(characters: string): number {
    const before = this.length
    for (let last = this.#pieces.pop(); last !== undefined; last = this.#pieces.pop()) {
      const rest = withoutEnd(last, characters)
      this.length -= last.length - rest.length
      if (rest === '') continue
      this.#pieces.push(rest)
      break
    }
    return before - this.length
  }

  /** Appends the text of an element: at most one empty line and one blank separate it from the text before. */
  append(text: string, { isPre }: { readonly isPre: boolean }): void {
    if (isPre || this.length === 0) {
      this.add(text)
      return
    }
    const before = this.#count('\n')
    const after = text.length - text.replace(/^\n+/, '').length
    if (before === 0 && after === 0) this.add(this.endsWith(' ') && text.startsWith(' ') ? text.slice(1) : text)
    else this.add(text.slice(Math.min(Math.max(before + after - 2, 0), after)))
  }

  /** Appends a block, separated by as many line breaks as the larger of both sides has, at most two. */
  addBlock(text: string): void {
    if (text === '') return
    const right = text.replace(/^\n+/, '')
    const most = Math.max(this.trimEnd('\n'), text.length - right.length)
    this.add('\n'.repeat(Math.min(most, 2)))
    this.add(right)
  }

  #count(character: string): number {
    const removed = this.trimEnd(character)
    this.add(character.repeat(removed))
    return removed
  }
}
