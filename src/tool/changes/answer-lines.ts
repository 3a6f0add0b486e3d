import { readFence } from './fence.ts'
import { readTag, type Tag } from './tag.ts'

/** What a line does to what stands in pairs. */
type Side = 'open' | 'close' | undefined

/** The lines of an answer, each with its line break, how far they have been read, and where things in them end. */
export class AnswerLines {
  readonly all: string[]
  /** Index of the line that is read next. */
  at = 0
  readonly #ends: readonly number[]
  readonly #tags: (Tag | null | undefined)[] = []
  readonly #tables = new Map<string, Int32Array>()

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

  /** The tag that a line begins with. */
  tagAt(index: number): Tag | undefined {
    const known = this.#tags[index]
    if (known !== undefined) return known ?? undefined
    const tag = readTag(this.all[index] ?? '')
    this.#tags[index] = tag ?? null
    return tag
  }

  /** Goes on at a line, or with what is left of the one before it. */
  goTo(next: number, rest = ''): void {
    this.at = next
    if (rest.trim() === '') return
    this.at -= 1
    this.all[this.at] = rest
    this.#tags[this.at] = undefined
  }

  /** Goes on with what is left of the line, else at the next one. */
  pass(rest = ''): void {
    this.goTo(this.at + 1, rest)
  }

  /**
   * The first line from `start` on with a closing tag like this one of which the opening one stands before `start`.
   * Tags further right than `maxIndent` do not count.
   */
  closingTag(start: number, { name, style }: Tag, maxIndent: number): number | undefined {
    return this.#look(`tag ${style}${name} ${maxIndent}`, start, (index) => {
      const tag = this.tagAt(index)
      if (tag === undefined || tag.name !== name || tag.style !== style || tag.indent > maxIndent) return undefined
      return tag.form === 'single' ? undefined : tag.form
    })
  }

  /** The line that closes the fence that line `start` opens, with the rules of `fenceEnd`. */
  closingFence(start: number): number | undefined {
    const marks = readFence(this.all[start] ?? '')?.marks
    if (marks === undefined) return undefined
    return this.#look(`fence ${marks}`, start + 1, (index) => {
      const fence = readFence(this.all[index] ?? '')
      if (fence?.marks.startsWith(marks) !== true) return undefined
      return fence.info === '' ? 'close' : 'open'
    })
  }

  /** The first line from `start` on of which this is true; `key` names the question. */
  next(key: string, start: number, isWanted: (index: number) => boolean): number | undefined {
    return this.#look(key, start, (index) => (isWanted(index) ? 'close' : undefined))
  }

  /**
   * All that closes more than was opened is worked out at once, from the end: an answer may hold thousands of things
   * that never end, each of which would be looked for up to the end.
   */
  #look(key: string, start: number, sideOf: (index: number) => Side): number | undefined {
    let table = this.#tables.get(key)
    if (table === undefined) {
      const none = this.all.length
      table = new Int32Array(none + 1).fill(none)
      for (let index = none - 1; index >= 0; index -= 1) {
        const side = sideOf(index)
        const behind = table[index + 1] ?? none
        table[index] = side === 'close' ? index : side === 'open' ? (table[Math.min(behind + 1, none)] ?? none) : behind
      }
      this.#tables.set(key, table)
    }
    const found = table[start] ?? this.all.length
    return found < this.all.length ? found : undefined
  }
}
