import { type HtmlElement, type HtmlNode, isElement } from './html.ts'
import { trimBlanks } from './markdown-output.ts'

/**
 * A table as padded Markdown. Undefined if Markdown cannot express it: in a cell of another table, without cells, or
 * without headings where they are needed. The heading is the first row of `thead`, else the first row with a `th`, else
 * the first row; each row has all its cells.
 */
export function markdownTable(
  table: HtmlElement,
  { needsHeadings, alone }: { readonly needsHeadings: boolean; readonly alone: (node: HtmlNode) => string },
): string | undefined {
  if (isInCell(table) || (needsHeadings && !hasHeadings(table))) return undefined
  const parts = table.children.filter(isElement)
  const rows = parts.flatMap(rowsOf)
  const heading = rows.find((row) => isHeading(row)) ?? rows[0]
  if (heading === undefined) return undefined
  const cells = [heading, ...rows.filter((row) => row !== heading)]
    .map((row) => cellsOf(row).map((cell) => cellText(alone(cell))))
    .filter((row, index) => index === 0 || row.length > 0)

  const count = Math.max(...cells.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(1, ...cells.map((row) => widthOf(row[column] ?? ''))),
  )
  const line = (texts: readonly string[]): string =>
    `|${widths.map((width, column) => ` ${padded(texts[column] ?? '', width)} |`).join('')}\n`
  const [first = [], ...others] = cells
  const captions = parts.filter(({ name }) => name === 'caption').map((caption) => `${alone(caption).trim()}\n`)
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return `\n\n${captions.join('')}${line(first)}${rule}${others.map(line).join('')}\n`
}

function isInCell({ parent }: HtmlElement): boolean {
  for (let node = parent; node !== null; node = node.parent) {
    if ('name' in node && (node.name === 'td' || node.name === 'th')) return true
  }
  return false
}

function hasHeadings(element: HtmlElement): boolean {
  return element.children.some((child) => {
    if (!isElement(child) || child.name === 'table') return false
    return child.name === 'th' || child.name === 'thead' || hasHeadings(child)
  })
}

function rowsOf(part: HtmlElement): readonly HtmlElement[] {
  if (part.name === 'tr') return [part]
  const isPart = part.name === 'thead' || part.name === 'tbody' || part.name === 'tfoot'
  return isPart
    ? part.children.filter(isElement).filter(({ name, children }) => name === 'tr' && children.length > 0)
    : []
}

function isHeading(row: HtmlElement): boolean {
  return (
    (row.parent !== null && 'name' in row.parent && row.parent.name === 'thead') ||
    cellsOf(row).some(({ name }) => name === 'th')
  )
}

function cellsOf(row: HtmlElement): readonly HtmlElement[] {
  return row.children.filter(isElement).filter(({ name }) => name === 'th' || name === 'td')
}

function cellText(text: string): string {
  return trimBlanks(text).replaceAll('\n', ' ').replaceAll('\r', '').replaceAll('|', '&#124;').trim()
}

/** As AIPack counts it: a `|` is one character, even if it is escaped. */
function widthOf(text: string): number {
  return Array.from(text.replaceAll('&#124;', '|')).length
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - Array.from(text).length))
}
