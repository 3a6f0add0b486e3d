import { closingIn, readFence, readTag, type Tag } from './syntax.ts'

/** Whether a line opens or closes a pair. */
type Side = 'open' | 'close' | undefined

/** The lines of an answer with their line breaks, the read position, and where the pairs in them end. */
export class AnswerLines {
  readonly all: string[]
  /** Index of the next line to read. */
  at = 0
  readonly #ends: readonly number[]
  readonly #tags: (Tag | null | undefined)[] = []
  readonly #tables = new Map<string, Table>()
  #taggedLines: ReadonlyMap<string, readonly number[]> | undefined
  #fenceLines: readonly number[] | undefined
  /** By tag: the last closing tag found on a line, as its distance from the end of the line. */
  readonly #closings = new Map<
    string,
    { readonly line: number; readonly left: number | undefined; readonly length: number }
  >()

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

  /** The read position as an offset in the text. */
  get position(): number {
    return (this.#ends[this.at] ?? this.#ends.at(-1) ?? 0) - this.line.length
  }

  /** The tag at the start of a line. */
  tagAt(index: number): Tag | undefined {
    const known = this.#tags[index]
    if (known !== undefined) return known ?? undefined
    const tag = readTag(this.all[index] ?? '')
    this.#tags[index] = tag ?? null
    return tag
  }

  /** Continues at a line, or with the rest of the line before it. */
  goTo(next: number, rest = ''): void {
    this.at = next
    if (rest.trim() === '') return
    this.at -= 1
    this.all[this.at] = rest
    this.#tags[this.at] = undefined
  }

  /** Continues with the rest of the line, or else at the next one. */
  pass(rest = ''): void {
    this.goTo(this.at + 1, rest)
  }

  /**
   * The first line at or after `start` with a matching closing tag whose opening tag is before `start`. Tags indented
   * more than `maxIndent` do not count.
   */
  closingTag(start: number, { name, style }: Tag, maxIndent: number): number | undefined {
    // bounds the number of tables
    const indent = maxIndent > mostIndent ? Number.POSITIVE_INFINITY : maxIndent
    const places = (this.#taggedLines ??= this.#linesByTag()).get(style + name)
    return this.#look(`tag ${style}${name} ${indent}`, start, {
      places: places ?? [],
      sideOf: (index) => {
        const tag = this.tagAt(index)
        if (tag === undefined || tag.name !== name || tag.style !== style || tag.indent > indent) return undefined
        return tag.form === 'single' ? undefined : tag.form
      },
    })
  }

  /** The line that closes the fence opened at line `start`, by the rules of `fenceEnd`. */
  closingFence(start: number): number | undefined {
    const marks = readFence(this.all[start] ?? '')?.marks.slice(0, mostMarks)
    if (marks === undefined) return undefined
    return this.#look(`fence ${marks}`, start + 1, {
      places: this.#fences(),
      sideOf: (index) => {
        const fence = readFence(this.all[index] ?? '')
        if (fence?.marks.startsWith(marks) !== true) return undefined
        return fence.info === '' ? 'close' : 'open'
      },
    })
  }

  /**
   * The first line at or after `start` that is a bare fence in the first column: at least these marks and nothing else.
   */
  bareFence(start: number, marks: string): number | undefined {
    const least = marks.slice(0, mostMarks)
    return this.#look(`bare fence ${least}`, start, {
      places: this.#fences(),
      sideOf: (index) => {
        const line = this.all[index] ?? ''
        return line.startsWith(least) && readFence(line)?.info === '' ? 'close' : undefined
      },
    })
  }

  /**
   * The first line at or after `start` for which `isWanted` returns true. `key` identifies the predicate; there may be
   * only a few of them.
   */
  next(key: string, start: number, isWanted: (index: number) => boolean): number | undefined {
    return this.#look(key, start, {
      places: this.all.keys(),
      sideOf: (index) => (isWanted(index) ? 'close' : undefined),
    })
  }

  /** The first position of the closing tag in the rest of the line; `rest` is its tail. See `closingIn`. */
  closingInRest(rest: string, tag: Tag): ReturnType<typeof closingIn> {
    // the rest shrinks with each tag of a line, and must not be searched again for each
    const key = tag.style + tag.name
    const known = this.#closings.get(key)
    if (known?.line === this.at && (known.left === undefined || known.left <= rest.length)) {
      if (known.left === undefined) return undefined
      const start = rest.length - known.left
      return { start, end: start + known.length }
    }
    const found = closingIn(rest, tag)
    const left = found === undefined ? undefined : rest.length - found.start
    this.#closings.set(key, { line: this.at, left, length: found === undefined ? 0 : found.end - found.start })
    return found
  }

  #fences(): readonly number[] {
    return (this.#fenceLines ??= this.all.flatMap((line, index) => (readFence(line) === undefined ? [] : [index])))
  }

  #linesByTag(): ReadonlyMap<string, readonly number[]> {
    const places = new Map<string, number[]>()
    for (const index of this.all.keys()) {
      const tag = this.tagAt(index)
      if (tag === undefined) continue
      const key = tag.style + tag.name
      const known = places.get(key)
      if (known === undefined) places.set(key, [index])
      else known.push(index)
    }
    return places
  }

  /**
   * Computes all unmatched closing lines in one pass from the end: an answer may contain thousands of pairs that are
   * never closed, and each would otherwise be searched for until the end.
   */
  #look(key: string, start: number, { places, sideOf }: Looking): number | undefined {
    let table = this.#tables.get(key)
    if (table === undefined) {
      table = tableOf(places, sideOf)
      this.#tables.set(key, table)
    }
    return table.ends[firstAtLeast(table.lines, start)]
  }
}

/** Directives indented more than this are treated alike. */
const mostIndent = 40
/** Longer fences are treated as if they had this many marks. */
const mostMarks = 32

interface Looking {
  /** The candidate lines, ascending. */
  readonly places: Iterable<number>
  readonly sideOf: (index: number) => Side
}

/** Candidate lines, and for each the line at which a pair open there is closed; undefined if it is not. */
interface Table {
  readonly lines: readonly number[]
  readonly ends: readonly (number | undefined)[]
}

function tableOf(places: Iterable<number>, sideOf: (index: number) => Side): Table {
  const found = [...places].flatMap((index) => {
    const side = sideOf(index)
    return side === undefined ? [] : [{ index, side }]
  })
  /** For each found line, the number of the line that closes it; the number of lines if none does. */
  const none = found.length
  const closes = new Int32Array(none + 1).fill(none)
  for (let number = none - 1; number >= 0; number -= 1) {
    if (found[number]?.side === 'close') closes[number] = number
    else closes[number] = closes[Math.min((closes[number + 1] ?? none) + 1, none)] ?? none
  }
  return {
    lines: found.map(({ index }) => index),
    ends: Array.from(closes, (number) => found[number]?.index),
  }
}

/**
 * Index of the first number, in an ascending list, that is at least `least`; the length of the list if there is none.
 */
function firstAtLeast(numbers: readonly number[], least: number): number {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((numbers[middle] ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}
