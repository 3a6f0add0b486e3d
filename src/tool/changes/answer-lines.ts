import { readFence } from './fence.ts'
import { closingIn, readTag, type Tag } from './tag.ts'

/** What a line does to what stands in pairs. */
type Side = 'open' | 'close' | undefined

/** The lines of an answer, each with its line break, how far they have been read, and where things in them end. */
export class AnswerLines {
  readonly all: string[]
  /** Index of the line that is read next. */
  at = 0
  readonly #ends: readonly number[]
  readonly #tags: (Tag | null | undefined)[] = []
  readonly #tables = new Map<string, Table>()
  #taggedLines: ReadonlyMap<string, readonly number[]> | undefined
  #fenceLines: readonly number[] | undefined
  /** By tag: how far before the end of its line the last closing one stood that was looked for. */
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
    // the more there are to tell apart, the more tables there would be
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

  /** The line that closes the fence that line `start` opens, with the rules of `fenceEnd`. */
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

  /** The first line from `start` on that is a fence of its own in the first column: at least these marks and nothing else. */
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

  /** The first line from `start` on of which this is true; `key` names the question, of which there may be only a few. */
  next(key: string, start: number, isWanted: (index: number) => boolean): number | undefined {
    return this.#look(key, start, {
      places: this.all.keys(),
      sideOf: (index) => (isWanted(index) ? 'close' : undefined),
    })
  }

  /** The first place of the closing tag in what is left of the line, of which `rest` is the end. See `closingIn`. */
  closingInRest(rest: string, tag: Tag): ReturnType<typeof closingIn> {
    // what is left gets shorter with each tag of a line, and is not looked through for each
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
   * All that closes more than was opened is worked out at once, from the end: an answer may hold thousands of things
   * that never end, each of which would be looked for up to the end.
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

/** Directives that are further to the right than this are not told apart. */
const mostIndent = 40
/** Longer fences are read as if they had so many marks. */
const mostMarks = 32

interface Looking {
  /** The lines that may be on a side, ascending. */
  readonly places: Iterable<number>
  readonly sideOf: (index: number) => Side
}

/** Lines that are on a side, and for each where what is open from it on ends: undefined when it does not. */
interface Table {
  readonly lines: readonly number[]
  readonly ends: readonly (number | undefined)[]
}

function tableOf(places: Iterable<number>, sideOf: (index: number) => Side): Table {
  const found = [...places].flatMap((index) => {
    const side = sideOf(index)
    return side === undefined ? [] : [{ index, side }]
  })
  /** The number, among those found, of what closes at each of them; their count when nothing does. */
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

/** Where in ascending numbers the first stands that is not below one; their count when there is none. */
function firstAtLeast(numbers: readonly number[], least: number): number {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((numbers[middle] ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}
