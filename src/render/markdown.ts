import { Lexer, type Token, type Tokens } from '../base/markdown.ts'
import { harmless } from '../base/terminal-text.ts'
import { widthOf } from '../base/width.ts'
import type { AnswerFlow } from './renderer.ts'
import type { Paint } from './style.ts'

interface Look {
  readonly paint: Paint
  /** Columns of the terminal. */
  readonly columns: () => number
}

/** A piece of a line, with the formats that are painted around it, outermost first. */
interface Piece {
  readonly text: string
  readonly formats: readonly Format[]
}

type Format = Parameters<Paint>[0]

/** Longer lines are shown as they are: nobody reads their emphasis, and parsing them takes long. */
const longestLine = 2_000
/** A table with more rows is shown as it is written, so that it is not held back forever. */
const mostRows = 200

const fenceAt = /^\s*(?:>\s*)*(`{3,}|~{3,})/
const headingAt = /^ {0,3}(#{1,6})(?=\s|$)/
const quoteAt = /^ {0,3}(?:> ?)+/
const itemAt = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?/
const ruleAt = /^ {0,3}([-*_])(?: *\1){2,} *$/
const rowAt = /^\s*\|.*\|\s*$/
/** Data of a program, in which the marks of Markdown mean something else. */
const dataAt = /^\s*[{[]\s*(?:["\d{[\]}]|$)/

/**
 * Shows Markdown on a terminal line by line, while it arrives: headings, lists, quotes, code blocks, tables, emphasis
 * and links. Lines are broken at words. What cannot be shown by color keeps its marks, so that nothing is lost; without
 * color all marks stay.
 */
export function createMarkdownFlow(write: (text: string) => void, look: Look): AnswerFlow {
  let open = ''
  /** The marks that began the code block that the text is in. */
  let fence: string | undefined
  let rows: string[] = []
  /** Undefined: nothing was written yet. */
  let isData: boolean | undefined

  function show(text: string): void {
    write(`${text}\n`)
  }

  function endTable(): void {
    const table = rows
    rows = []
    if (table.length > 0) for (const line of tableLines(table, look)) show(line)
  }

  function addLine(written: string): void {
    const line = harmless(written.replace(/\r$/, ''))
    if (isData === undefined && line.trim() !== '') isData = dataAt.test(line)
    if (isData === true) return show(line)
    const [, marks] = fenceAt.exec(line) ?? []
    if (fence !== undefined) {
      const isEnd = marks?.startsWith(fence) === true && line.trim() === marks
      if (isEnd) fence = undefined
      return show(isEnd ? look.paint('dim', line) : line)
    }
    if (rowAt.test(line) && line.length <= longestLine && rows.length < mostRows) return void rows.push(line)
    endTable()
    if (marks !== undefined) {
      fence = marks
      return show(look.paint('dim', line))
    }
    show(lineText(line, look))
  }

  return {
    add(text) {
      const lines = (open + text).split('\n')
      open = lines.pop() ?? ''
      for (const line of lines) addLine(line)
    },
    end() {
      if (open !== '') addLine(open)
      open = ''
      endTable()
      fence = undefined
      isData = undefined
    },
  }
}

/** A whole text as `createMarkdownFlow` shows it. */
export function markdownText(text: string, look: Look): string {
  let shown = ''
  const flow = createMarkdownFlow((part) => (shown += part), look)
  flow.add(text)
  flow.end()
  return text.endsWith('\n') ? shown : shown.replace(/\n$/, '')
}

function lineText(line: string, look: Look): string {
  const { paint } = look
  if (line.length > longestLine) return line
  if (ruleAt.test(line)) return paint('dim', line)
  const [, marks] = headingAt.exec(line) ?? []
  if (marks !== undefined) {
    const title = line.slice(line.indexOf(marks) + marks.length).trim()
    return wrapped([...piecesOf(title, look, ['bold'])], { ...look, first: `${paint('dim', marks)} `, rest: '' })
  }
  const [quote = ''] = quoteAt.exec(line) ?? []
  const behind = line.slice(quote.length)
  const [item = ''] = itemAt.exec(behind) ?? []
  const bar = quote === '' ? '' : paint('dim', quote)
  const first = `${bar}${item === '' ? '' : paint('cyan', item)}`
  const text = behind.slice(item.length)
  const [inset = ''] = item === '' ? (/^\s*/.exec(text) ?? []) : []
  const rest = `${bar}${' '.repeat(widthOf(item))}${inset}`
  return wrapped(piecesOf(text.slice(inset.length), look), { ...look, first: first + inset, rest })
}

interface Lines extends Look {
  /** What begins the first line, and all others. */
  readonly first: string
  readonly rest: string
}

/** Breaks a line at spaces. A word that is longer than a line stays whole. */
function wrapped(pieces: readonly Piece[], { paint, columns, first, rest }: Lines): string {
  const most = Math.max(20, columns() - 1)
  let text = first
  let width = shownWidth(first)
  let gap = ''
  for (const word of wordsOf(pieces)) {
    const isGap = word.every(({ text: part }) => part.trim() === '')
    if (isGap) {
      gap = textOf(word)
      continue
    }
    const wide = widthOf(textOf(word))
    if (width + gap.length + wide > most && width > shownWidth(rest)) {
      text += `\n${rest}`
      width = shownWidth(rest)
      gap = ''
    }
    text += gap + word.map((piece) => painted(piece, paint)).join('')
    width += gap.length + wide
    gap = ''
  }
  return text
}

/** Words and the spaces between them, in turn; a word may consist of pieces that look differently. */
function wordsOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const words: Piece[][] = []
  let isGap: boolean | undefined
  for (const { text, formats } of pieces) {
    for (const part of text.split(/( +)/).filter((one) => one !== '')) {
      const isSpace = part.trim() === ''
      if (isSpace !== isGap || isGap === undefined) words.push([])
      isGap = isSpace
      words.at(-1)?.push({ text: part, formats })
    }
  }
  return words
}

function painted({ text, formats }: Piece, paint: Paint): string {
  return formats.reduceRight((inner, format) => paint(format, inner), text)
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('')
}

// oxlint-disable-next-line no-control-regex
const colors = /\u001b\[\d+m/g

function shownWidth(text: string): number {
  return widthOf(text.replaceAll(colors, ''))
}

/** The pieces of a line of text; all of it as it is written if there is no color. */
function piecesOf(text: string, { paint }: Look, formats: readonly Format[] = []): readonly Piece[] {
  const hasColor = paint('bold', 'x') !== 'x'
  if (!hasColor || /^[\w\s.,:;'"()?/-]*$/.test(text)) return [{ text, formats }]
  try {
    return Lexer.lexInline(text).flatMap((token) => piecesIn(token, formats))
  } catch {
    // nested too deeply
    return [{ text, formats }]
  }
}

function piecesIn(token: Token, formats: readonly Format[]): readonly Piece[] {
  const plain = (text: string, ...more: readonly Format[]): Piece => ({ text, formats: [...formats, ...more] })
  const inside = (...more: readonly Format[]): readonly Piece[] => {
    const { tokens = [] } = token as { readonly tokens?: readonly Token[] }
    return tokens.flatMap((one) => piecesIn(one, [...formats, ...more]))
  }
  switch (token.type) {
    case 'strong':
      // with underscores it may be a name
      return token.raw.startsWith('*') ? inside('bold') : [plain(token.raw, 'bold')]
    case 'em':
      return token.raw.startsWith('*') ? inside('italic') : [plain(token.raw, 'italic')]
    case 'del':
      return token.raw.startsWith('~~') ? inside('strikethrough') : [plain(token.raw)]
    case 'codespan':
      return [plain((token as Tokens.Codespan).text, 'cyan')]
    case 'escape':
      return [plain((token as Tokens.Escape).text)]
    case 'link': {
      const { href, text, raw } = token as Tokens.Link
      if (!raw.startsWith('[')) return [plain(raw, 'underline')]
      return text === href ? [plain(href, 'underline')] : [...inside('underline'), plain(` (${href})`, 'dim')]
    }
    case 'image': {
      const { href, text } = token as Tokens.Image
      return [plain(`[${text === '' ? 'image' : text}: ${href}]`)]
    }
    default:
      return [plain(token.raw)]
  }
}

const gap = '  '

/** A table with its columns aligned; as it is written if it is none, or is wider than the terminal. */
function tableLines(lines: readonly string[], look: Look): readonly string[] {
  const table = parseTable(lines)
  if (table === undefined) return lines
  const { align } = table
  const cellOf = ({ text }: Tokens.TableCell, formats: readonly Format[]): readonly Piece[] =>
    piecesOf(text, look, formats)
  const rows = [
    table.header.map((cell) => cellOf(cell, ['bold'])),
    ...table.rows.map((row) => row.map((cell) => cellOf(cell, []))),
  ]
  const widths = align.map((_, at) => Math.max(...rows.map((row) => widthOf(textOf(row[at] ?? [])))))
  const total = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1))
  if (total > look.columns() - 1) return lines
  const rule = look.paint('dim', widths.map((width) => '─'.repeat(Math.max(1, width))).join(gap))
  const [head = '', ...others] = rows.map((row) =>
    row
      .map((cell, at) => {
        const space = ' '.repeat(Math.max(0, (widths[at] ?? 0) - widthOf(textOf(cell))))
        const text = cell.map((piece) => painted(piece, look.paint)).join('')
        return align[at] === 'right' ? space + text : text + space
      })
      .join(gap)
      .trimEnd(),
  )
  return [head, rule, ...others]
}

function parseTable(lines: readonly string[]): Tokens.Table | undefined {
  try {
    const [token, ...others] = Lexer.lex(lines.join('\n'))
    return others.length === 0 && token?.type === 'table' ? (token as Tokens.Table) : undefined
  } catch {
    return undefined
  }
}
