interface Row {
  /** One entry per column; the second column of a wide character is empty. */
  readonly cells: string[]
  /** The text continued in the next row because the row was full. */
  wrapped: boolean
}

// Widths by code point, independent of the product's tables, which are checked against these.
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f1e6, 0x1f1ff],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
]
const zero: readonly (readonly [number, number])[] = [
  [0x0300, 0x036f],
  [0x200b, 0x200f],
  [0xfe00, 0xfe0f],
]

function isIn(ranges: typeof wide, code: number): boolean {
  return ranges.some(([first, last]) => code >= first && code <= last)
}

// oxlint-disable-next-line no-control-regex
const tokens = /\u001b\[(\??)([\d;]*)([A-Za-z])|[\s\S]/gu

/**
 * A terminal in memory, including what scrolled off the top. It supports what the product writes and throws for any
 * other control character. Lines that do not fit after a resize are wrapped again, as in current terminals.
 */
export class VirtualTerminal {
  columns: number
  height: number
  cursorShown = true
  wraps = true
  /** Characters that did not fit while wrapping was off. */
  lost = ''
  private rows: Row[] = [newRow()]
  /** Index of the first row of the screen. */
  private base = 0
  private row = 0
  private column = 0

  constructor(columns: number, height: number) {
    this.columns = columns
    this.height = height
  }

  write(text: string): void {
    for (const [token, mark = '', number = '', command] of text.matchAll(tokens)) {
      if (command !== undefined) this.control(`${mark}${command}`, number)
      else if (token === '\n') {
        // the tty driver turns it into both
        this.down()
        this.column = 0
      } else if (token === '\r') this.column = 0
      else if (token === '\t') this.column = Math.min(this.columns - 1, (Math.floor(this.column / 8) + 1) * 8)
      else if (/\p{Cc}/u.test(token)) throw new Error(`a control character: ${JSON.stringify(token)}`)
      else this.put(token)
    }
  }

  resize(columns: number, height: number): void {
    const lines: string[][] = [[]]
    let at = { line: 0, cell: 0 }
    for (const [index, { cells, wrapped }] of this.rows.entries()) {
      const line = lines.at(-1) ?? []
      if (index === this.row) at = { line: lines.length - 1, cell: line.length + this.column }
      line.push(...(wrapped ? padded(cells, this.columns) : cells))
      if (!wrapped && index < this.rows.length - 1) lines.push([])
    }
    this.columns = columns
    this.height = height
    this.rows = []
    for (const [index, line] of lines.entries()) {
      const first = this.rows.length
      for (let start = 0; start === 0 || start < line.length; start += columns) {
        this.rows.push({ cells: line.slice(start, start + columns), wrapped: start + columns < line.length })
      }
      if (index !== at.line) continue
      this.row = Math.min(this.rows.length - 1, first + Math.floor(at.cell / columns))
      this.column = at.cell % columns
    }
    this.base = Math.max(0, this.rows.length - height)
  }

  /** The visible text, without empty rows at the end. */
  screen(): readonly string[] {
    return texts(this.rows.slice(this.base))
  }

  /** Everything that was ever shown and not erased, top to bottom. */
  everything(): readonly string[] {
    return texts(this.rows)
  }

  cursor(): { readonly row: number; readonly column: number } {
    return { row: this.row - this.base, column: this.column }
  }

  private control(command: string, number: string): void {
    switch (command) {
      case 'A':
        this.row = Math.max(this.base, this.row - Number(number || 1))
        return
      case 'K':
        this.current().cells.length = Math.min(this.current().cells.length, this.column)
        this.current().wrapped = false
        return
      case 'J':
        this.control('K', '')
        this.rows.length = this.row + 1
        return
      case 'm':
        return
      case '?h':
      case '?l':
        if (number === '25') this.cursorShown = command === '?h'
        else if (number === '7') this.wraps = command === '?h'
        else throw new Error(`an unknown mode: ${number}`)
        return
      default:
        throw new Error(`an unknown control sequence: ${number}${command}`)
    }
  }

  private put(character: string): void {
    const code = character.codePointAt(0) ?? 0
    const width = isIn(zero, code) ? 0 : isIn(wide, code) ? 2 : 1
    if (width === 0) return
    if (this.column + width > this.columns) {
      if (!this.wraps) {
        this.lost += character
        return
      }
      this.current().wrapped = true
      this.down()
      this.column = 0
    }
    const { cells } = this.current()
    while (cells.length < this.column) cells.push(' ')
    cells.splice(this.column, width, character, ...(width === 2 ? [''] : []))
    this.column += width
  }

  private down(): void {
    this.row += 1
    if (this.row === this.rows.length) this.rows.push(newRow())
    if (this.row - this.base >= this.height) this.base += 1
  }

  private current(): Row {
    const row = this.rows[this.row]
    if (row === undefined) throw new Error('the cursor is nowhere')
    return row
  }
}

function newRow(): Row {
  return { cells: [], wrapped: false }
}

function padded(cells: readonly string[], columns: number): readonly string[] {
  return [...cells, ...Array<string>(Math.max(0, columns - cells.length)).fill(' ')]
}

function texts(rows: readonly Row[]): readonly string[] {
  const lines = rows.map(({ cells }) => cells.join('').trimEnd())
  const last = lines.findLastIndex((line) => line !== '')
  return lines.slice(0, last + 1)
}
