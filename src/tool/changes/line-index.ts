import { type Form, formOf, type Line } from './document.ts'

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
