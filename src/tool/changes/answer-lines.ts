/** The lines of an answer, each with its line break, and how far they have been read. */
export class AnswerLines {
  readonly all: string[]
  /** Index of the line that is read next. */
  at = 0
  readonly #ends: readonly number[]

  constructor(text: string) {
    this.all = text === '' ? [] : text.split(/(?<=\n)/)
    let end = 0
    this.#ends = this.all.map((line) => (end += line.length))
  }

  get isOver(): boolean {
    return this.at >= this.all.length
  }

  get line(): string {
    return this.all[this.at] ?? ''
  }

  /** Where in the text the reading has come to. */
  get position(): number {
    return (this.#ends[this.at] ?? this.#ends.at(-1) ?? 0) - this.line.length
  }

  /** Goes on at a line, or with what is left of the one before it. */
  goTo(next: number, rest = ''): void {
    this.at = next
    if (rest.trim() === '') return
    this.at -= 1
    this.all[this.at] = rest
  }

  /** Goes on with what is left of the line, else at the next one. */
  pass(rest = ''): void {
    this.goTo(this.at + 1, rest)
  }
}
