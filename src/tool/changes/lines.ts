/**
 * How lines are compared, with increasing tolerance. `text`: verbatim. `whitespace`: ignores white space at both ends,
 * and treats runs of it as one space. `marks`: also ignores how quotes, dashes, entities and composed letters are
 * written. `letters`: also ignores case and punctuation, except in lines that consist only of punctuation. Lines with
 * the same form are equal.
 */
export type Form = 'text' | 'whitespace' | 'marks' | 'letters'

/** A text normalized to one of the forms. */
export function formOf(text: string, form: Form): string {
  switch (form) {
    case 'text':
      return text
    case 'whitespace':
      return text.trim().replaceAll(/\s+/g, ' ')
    case 'marks':
      return formOf(plainMarks(text.normalize()), 'whitespace')
    case 'letters': {
      const letters = text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')
      return letters === '' ? formOf(text, 'whitespace') : letters
    }
  }
}

/** Variants of characters that models and editors write differently, by the plain character. */
const variants: Readonly<Record<string, string>> = {
  '"': '“”„‟«»',
  "'": '‘’‚‛',
  '-': '‐‑‒–—−',
  ' ': '\u00A0\u2007\u202F',
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#34;': '"',
  '&apos;': "'",
  '&#39;': "'",
  '&nbsp;': ' ',
  '&amp;': '&',
  '...': '…',
}

/** The plain form of a mark. */
export const plainOf = new Map([
  ...Object.entries(variants).flatMap(([plain, others]) => Array.from(plain + others, (one) => [one, plain] as const)),
  ...Object.entries(entities).map(([entity, plain]) => [entity, plain] as const),
])

/** Everything that can be written in several ways. */
export const mark = new RegExp(
  `${Object.keys(entities).map(escaped).join('|')}|[<>&…${[...plainOf.keys()]
    .filter((key) => key.length === 1)
    .map(escaped)
    .join('')}]`,
  'gu',
)

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}

/** A text with its quotes, dashes, spaces and entities in plain form. */
export function plainMarks(text: string): string {
  return text.replaceAll(mark, (found) => plainOf.get(found) ?? found)
}

/** A line of a file being patched. */
export class Line {
  readonly text: string
  /** `\n` or `\r\n`; empty only for a last line without one. */
  readonly end: string
  /** The number in the file as the model saw it, from 1; undefined for lines added by a hunk of this patch. */
  readonly number: number | undefined
  #whitespace: string | undefined
  #marks: string | undefined
  #letters: string | undefined

  constructor(text: string, { end, number }: Pick<Line, 'end' | 'number'>) {
    this.text = text
    this.end = end
    this.number = number
  }

  /** The text normalized to a form; cached, because the same lines are compared with every hunk. */
  as(form: Form): string {
    switch (form) {
      case 'text':
        return this.text
      case 'whitespace':
        return (this.#whitespace ??= formOf(this.text, form))
      case 'marks':
        return (this.#marks ??= formOf(this.text, form))
      case 'letters':
        return (this.#letters ??= formOf(this.text, form))
    }
  }
}

/** A text split into lines; `join` restores it unchanged. */
export interface Document {
  readonly mark: string
  readonly lines: readonly Line[]
  /** The line ending for new lines: the most frequent one in the file. */
  readonly end: string
  readonly hasFinalNewline: boolean
}

export function toDocument(text: string): Document {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const parts = text.slice(mark.length).split('\n')
  const last = parts.pop() ?? ''
  const lines = parts.map((part, index) =>
    part.endsWith('\r')
      ? new Line(part.slice(0, -1), { end: '\r\n', number: index + 1 })
      : new Line(part, { end: '\n', number: index + 1 }),
  )
  return {
    mark,
    lines: last === '' ? lines : [...lines, new Line(last, { end: '', number: lines.length + 1 })],
    end: mainEnd(text),
    hasFinalNewline: last === '',
  }
}

export function fromDocument({ mark, lines, end, hasFinalNewline }: Document): string {
  const last = lines.length - 1
  const parts = lines.map((line, index) => {
    if (index === last && !hasFinalNewline) return line.text
    return line.text + (line.end === '' ? end : line.end)
  })
  return mark + parts.join('')
}

/** The most frequent line ending of a text. */
export function mainEnd(text: string): '\n' | '\r\n' {
  const pairs = text.split('\r\n').length - 1
  return pairs > 0 && pairs * 2 > text.split('\n').length - 1 ? '\r\n' : '\n'
}

/** The white space at the start of a line. */
export function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length)
}

/** Lines by their normalized text: the only line with it, or `several`. */
type Known = Map<string, Line | 'several'>

/**
 * An index of the lines of a file that is patched in many places, updated with each change: finds a line that occurs
 * only once without scanning the file.
 */
export class LineIndex {
  readonly #lines: readonly Line[]
  readonly #known = new Map<Form, Known>()
  /** How far the lines after the last change have moved down from their original position. */
  #shift = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  /** The only index of a text, or `none`, or `several`. */
  find(text: string, form: Form): number | 'none' | 'several' {
    const found = this.#of(form).get(formOf(text, form))
    if (found === undefined) return 'none'
    return found === 'several' ? 'several' : this.#indexOf(found)
  }

  /** Must be called after each change. */
  replaced(removed: readonly Line[], added: readonly Line[]): void {
    this.#shift += added.length - removed.length
    const stays = new Set(added)
    const before = new Set(removed)
    for (const [form, known] of this.#known) {
      for (const line of removed) if (!stays.has(line) && known.get(line.as(form)) === line) known.delete(line.as(form))
      for (const line of added) if (!before.has(line)) note(known, line, form)
    }
  }

  #of(form: Form): Known {
    const known = this.#known.get(form)
    if (known !== undefined) return known
    const made: Known = new Map()
    for (const line of this.#lines) note(made, line, form)
    this.#known.set(form, made)
    return made
  }

  #indexOf(line: Line): number {
    const number = line.number ?? 0
    const guess = [number - 1 + this.#shift, number - 1].find((index) => this.#lines[index] === line)
    return guess ?? this.#lines.indexOf(line)
  }
}

function note(known: Known, line: Line, form: Form): void {
  const text = line.as(form)
  known.set(text, known.has(text) ? 'several' : line)
}
