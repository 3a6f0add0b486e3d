import { type HtmlElement, type HtmlNode, isElement, parseHtml, parseHtmlPart, textOf } from './html.ts'

/** Origin of the HTML: tables of Word documents need no heading, and strikethrough and underlined text is kept. */
export type HtmlOrigin = 'page' | 'document'

/**
 * HTML as Markdown, as AIPack's converter writes it: CommonMark with `-`, `*` and `#`, fenced code, tables that have
 * headings, the title as the first heading and the others one level deeper; but without styles, with all cells of
 * tables and all parts of `noscript`. Import this file lazily.
 * @throws BatonError SCRIPT_FAILED if elements are nested deeper than 512 levels
 */
export function markdownFromHtml(html: string, origin: HtmlOrigin = 'page'): string {
  const nodes = parseHtml(html)
  const title = titleIn(nodes)
  const output = new MarkdownOutput()
  writeNodes(nodes, output, { origin, deeper: title === '' ? 0 : 1, isPre: false, isBlock: true })
  output.trimEnd(blanks)
  const text = trimNewlines(output.text())
  if (title === '') return text
  return text === '' ? `# ${title}\n` : `# ${title}\n\n${text}`
}

/** The first title with text. */
function titleIn(nodes: readonly HtmlNode[]): string {
  for (const node of nodes) {
    if (!isElement(node)) continue
    const title = node.name === 'title' ? textOf(node).replaceAll(/\s+/g, ' ').trim() : titleIn(node.children)
    if (title !== '') return title
  }
  return ''
}

interface Around {
  readonly origin: HtmlOrigin
  /** Number of levels by which headings are shifted. */
  readonly deeper: number
  readonly isPre: boolean
  /** Whether the nodes are the content of a block, which starts without blanks. */
  readonly isBlock: boolean
}

function writeNodes(nodes: readonly HtmlNode[], output: MarkdownOutput, around: Around): void {
  let isFirst = around.isBlock && !around.isPre
  for (const node of joined(nodes)) {
    const isBlock = isElement(node) && blocks.has(node.name)
    if (isBlock) output.trimEnd(' ')
    const { length } = output
    if (isElement(node)) writeElement(node, output, around)
    else if (node.type === 'text' && 'data' in node) writeText(node, output, { isFirst, isPre: around.isPre })
    if (output.length > length) isFirst = isBlock
  }
}

/** Merges adjacent inline elements of one kind that contain only text: `<b>a</b><b>b</b>` is `**ab**`. */
function joined(nodes: readonly HtmlNode[]): readonly HtmlNode[] {
  const result: HtmlNode[] = []
  for (const node of nodes) {
    const [before, now] = [onlyText(result.at(-1)), onlyText(node)]
    if (before === undefined || now === undefined || !isAlike(before.element, now.element)) result.push(node)
    else before.text.data += now.text.data
  }
  return result
}

type Text = Extract<HtmlNode, { data: string }>

function onlyText(node: HtmlNode | undefined): { readonly element: HtmlElement; readonly text: Text } | undefined {
  if (node === undefined || !isElement(node) || node.children.length !== 1) return undefined
  const [text] = node.children
  return text?.type === 'text' ? { element: node, text: text as Text } : undefined
}

const sameAs: Readonly<Record<string, string>> = { i: 'em', b: 'strong' }

function isAlike(left: HtmlElement, right: HtmlElement): boolean {
  const [first, second] = [left, right].map(({ name }) => sameAs[name] ?? name)
  const attributes = ({ attribs }: HtmlElement): string => JSON.stringify(attribs)
  return first === second && first !== 'a' && !blocks.has(left.name) && attributes(left) === attributes(right)
}

function writeText(
  { data, parent }: Text,
  output: MarkdownOutput,
  { isFirst, isPre }: { readonly isFirst: boolean; readonly isPre: boolean },
): void {
  if (isPre) {
    const isFence = parent !== null && 'name' in parent && parent.name === 'pre' && /^[`~]/.test(data)
    output.add(isFence ? `\\${data}` : data)
    return
  }
  const text = escaped(data).replaceAll(/[ \t\n\f\r]+/g, ' ')
  output.add(isFirst || output.endsWith(' ') ? text.replace(/^ +/, '') : text)
}

/** Escapes text so that Markdown reads it as plain text. */
function escaped(text: string): string {
  const start = /^[=~>]|^[-+](?= )|^#+(?= )/.test(text) ? '\\' : ''
  const marked = text.replaceAll(/[\\*_`[\]]/g, String.raw`\$&`).replace(/^(\d+)\.(?= )/, String.raw`$1\.`)
  return start + marked.replaceAll(/<(?=[?a-zA-Z]|\/[a-zA-Z]|!(?!\\?\[CDATA\\?\[))/g, String.raw`\<`)
}

function writeElement(element: HtmlElement, output: MarkdownOutput, around: Around): void {
  const { name } = element
  const inner = (nodes: readonly HtmlNode[] = element.children): string => {
    const isPre = around.isPre || name === 'pre' || name === 'code'
    const content = new MarkdownOutput()
    writeNodes(nodes, content, { ...around, isPre, isBlock: blocks.has(name) })
    return content.text()
  }
  /** A node on its own, as if it were first. */
  const alone = (node: HtmlNode): string => {
    const content = new MarkdownOutput()
    writeNodes([node], content, { ...around, isPre: false, isBlock: true })
    return content.text()
  }
  const writer = writers[name] ?? (blocks.has(name) ? asBlock : undefined)
  const text = writer === undefined ? inner() : writer({ element, around, inner, alone })
  output.append(text, around)
}

interface Writing {
  readonly element: HtmlElement
  readonly around: Around
  /** The content of the element, or other nodes instead. */
  readonly inner: (nodes?: readonly HtmlNode[]) => string
  readonly alone: (node: HtmlNode) => string
}

type Writer = (writing: Writing) => string

const nothing: Writer = () => ''
const asBlock: Writer = ({ inner }) => `\n\n${trimNewlines(inner())}\n\n`

function marked(open: string, close = open): Writer {
  return ({ inner }) => {
    const text = inner()
    const content = text.trim()
    if (content === '') return ''
    const start = text.length - text.trimStart().length
    return text.slice(0, start) + open + content + close + text.slice(start + content.length)
  }
}

/** Applies only to documents, as in AIPack. */
function inDocuments(writer: Writer): Writer {
  return (writing) => (writing.around.origin === 'document' ? writer(writing) : writing.inner())
}

function heading(level: number): Writer {
  return ({ inner, around: { deeper } }) => {
    const text = trimBlanks(inner())
    if (text === '' && deeper > 0) return ''
    return `\n\n${'#'.repeat(Math.min(level + deeper, 6))} ${text}\n\n`
  }
}

const list: Writer = ({ element, inner, alone }) => {
  const content = trimNewlines(element.name === 'ol' ? numbered(element, alone) : inner())
  if (content === '') return ''
  const around = nameOf(element.parent) === 'li' ? '\n' : '\n\n'
  return around + content + around
}

const item: Writer = ({ element, inner }) => {
  const content = inner().replace(/^[ \t\r\n]+/, '')
  return nameOf(element.parent) === 'ol' ? `\n${content}\n` : `\n- ${indented(content, 2)}`
}

function numbered({ attribs, children }: HtmlElement, alone: Writing['alone']): string {
  const count = children.filter((child) => nameOf(child) === 'li').length
  const given = Number(attribs['start'] ?? 1)
  const first = Number.isInteger(given) ? Math.max(given, 1) : 1
  const width = String(first + count - 1).length
  let number = first
  const output = new MarkdownOutput()
  for (const child of children) {
    const text = alone(child)
    if (nameOf(child) === 'li') {
      const mark = `${number++}.`.padEnd(width + 2)
      output.addBlock(`\n${mark}${indented(text.replace(/^\n+/, ''), mark.length)}`)
    } else output.addBlock(text)
  }
  return output.text()
}

const code: Writer = ({ element, inner }) => {
  const text = inner()
  const pre = element.parent
  if (pre === null || !('attribs' in pre) || pre.name !== 'pre') return inlineCode(trimBlanks(text))
  const content = text.replace(/\n$/, '')
  const fence = '`'.repeat(Math.max(3, ...runsOf(content).map((length) => length + 1)))
  const language = languageOf(element) ?? languageOf(pre) ?? ''
  return `${fence}${language}\n${content}\n${fence}`
}

function inlineCode(content: string): string {
  const isEdge = content.startsWith('`') || content.endsWith('`')
  const runs = runsOf(content)
  let length = 1
  while (isEdge ? runs.some((run) => run >= length) : runs.includes(length)) length += 1
  const fence = '`'.repeat(length)
  return isEdge ? `${fence} ${content} ${fence}` : fence + content + fence
}

/** The lengths of the runs of backticks. */
function runsOf(text: string): readonly number[] {
  return Array.from(text.matchAll(/`+/g), ([run]) => run.length)
}

function languageOf({ attribs }: HtmlElement): string | undefined {
  const name = attribs['class']?.split(' ').find((word) => word.startsWith('language-'))
  return name?.slice('language-'.length)
}

const link: Writer = ({ element, inner }) => {
  const { href, title } = element.attribs
  const text = inner()
  if (href === undefined) return text
  const shown = withoutEnd(text, blanks)
  return `[${shown.replace(/^[ \t\r\n]+/, '')}](${target(href, title)})${text.slice(shown.length)}`
}

const image: Writer = ({ element: { attribs } }) => {
  const { src, alt = '', title } = attribs
  return src === undefined ? '' : `![${quotable(alt)}](${target(src, title)})`
}

function target(address: string, title: string | undefined): string {
  const safe = address.replaceAll(/[()]/g, String.raw`\$&`)
  return (safe.includes(' ') ? `<${safe}>` : safe) + (title === undefined ? '' : ` "${quotable(title)}"`)
}

function quotable(text: string): string {
  const lines = text.split(/\r?\n/).map((line) => trimBlanks(line).replaceAll('"', String.raw`\"`))
  return lines.filter((line) => line !== '').join('\n')
}

const quote: Writer = ({ inner }) => {
  const text = withoutEnd(inner().replace(/^\n+/, ''), blanks)
  return `\n\n${text.replaceAll(/^(?!$)|^(?=\n)/gm, '> ')}\n\n`
}

const table: Writer = ({ element, around, inner, alone }) => {
  return markdownTable(element, { needsHeadings: around.origin === 'page', alone }) ?? inner()
}

const writers: Readonly<Record<string, Writer>> = {
  a: link,
  b: marked('**'),
  blockquote: quote,
  br: () => '  \n',
  code,
  del: inDocuments(marked('~~')),
  em: marked('*'),
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
  hr: () => '\n\n* * *\n\n',
  i: marked('*'),
  img: image,
  li: item,
  noscript: ({ element, inner }) => inner(parseHtmlPart(textOf(element))),
  ol: list,
  s: inDocuments(marked('~~')),
  script: nothing,
  span: ({ inner, around }) => (around.isPre ? inner() : trimNewlines(inner())),
  strong: marked('**'),
  style: nothing,
  table,
  title: nothing,
  u: inDocuments(marked('<u>', '</u>')),
  ul: list,
}

const blocks: ReadonlySet<string> = new Set(
  (
    'address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt ' +
    'fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link ' +
    'main menu menuitem nav noframes ol optgroup option p param pre script search section style summary table tbody td ' +
    'textarea tfoot th thead title tr track ul'
  ).split(' '),
)

function nameOf(node: HtmlNode | HtmlElement['parent']): string | undefined {
  return node !== null && 'name' in node ? node.name : undefined
}

/** Indents the lines after the first and removes trailing blanks. */
function indented(text: string, width: number): string {
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => withoutEnd(line, blanks))
  return lines.map((line, index) => (index === 0 || line === '' ? line : ' '.repeat(width) + line)).join('\n')
}

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

/**
 * Removes these characters from the end of a text. Unlike a pattern, it is not slowed down by long runs of them
 * elsewhere.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** The white space of HTML that is trimmed. */
export const blanks = ' \t\r\n'

export function trimNewlines(text: string): string {
  return withoutEnd(text.replace(/^\n+/, ''), '\n')
}

export function trimBlanks(text: string): string {
  return withoutEnd(text.replace(/^[ \t\r\n]+/, ''), blanks)
}

/** Markdown under construction, in pieces: only its end is inspected, however long it is. */
export class MarkdownOutput {
  readonly #pieces: string[] = []
  length = 0

  text(): string {
    return this.#pieces.join('')
  }

  endsWith(character: string): boolean {
    return this.#pieces.at(-1)?.endsWith(character) ?? false
  }

  add(text: string): void {
    if (text === '') return
    this.#pieces.push(text)
    this.length += text.length
  }

  /** Removes these characters from the end and returns how many were removed. */
  trimEnd(characters: string): number {
    const before = this.length
    for (let last = this.#pieces.pop(); last !== undefined; last = this.#pieces.pop()) {
      const rest = withoutEnd(last, characters)
      this.length -= last.length - rest.length
      if (rest === '') continue
      this.#pieces.push(rest)
      break
    }
    return before - this.length
  }

  /** Appends the text of an element: at most one empty line and one blank separate it from the text before. */
  append(text: string, { isPre }: { readonly isPre: boolean }): void {
    if (isPre || this.length === 0) {
      this.add(text)
      return
    }
    const before = this.#count('\n')
    const after = text.length - text.replace(/^\n+/, '').length
    if (before === 0 && after === 0) this.add(this.endsWith(' ') && text.startsWith(' ') ? text.slice(1) : text)
    else this.add(text.slice(Math.min(Math.max(before + after - 2, 0), after)))
  }

  /** Appends a block, separated by as many line breaks as the larger of both sides has, at most two. */
  addBlock(text: string): void {
    if (text === '') return
    const right = text.replace(/^\n+/, '')
    const most = Math.max(this.trimEnd('\n'), text.length - right.length)
    this.add('\n'.repeat(Math.min(most, 2)))
    this.add(right)
  }

  #count(character: string): number {
    const removed = this.trimEnd(character)
    this.add(character.repeat(removed))
    return removed
  }
}
