import { type Form, formOf, type Line } from './document.ts'

/** Lines by their text in a form: the one line that has it, or `several`. */
type Known = Map<string, Line | 'several'>

/**
 * The lines of a file that is patched in many places, kept up while it changes: where a line stands that there is only
 * once, without looking through the file.
 */
export class LineIndex {
  readonly #lines: readonly Line[]
  readonly #known = new Map<Form, Known>()
  /** How much further down lines behind the last change stand than in the file as it was. */
  #shift = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  /** Where a text stands: its only index, `none`, or `several`. */
  find(text: string, form: Form): number | 'none' | 'several' {
    const found = this.#of(form).get(formOf(text, form))
    if (found === undefined) return 'none'
    return found === 'several' ? 'several' : this.#indexOf(found)
  }

  /** To be told of each change after it was made. */
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
