import { selectAll } from 'css-select'
import render from 'dom-serializer'
import { DomUtils, parseDocument } from 'htmlparser2'
import { BatonError } from './error.ts'

/** A node of a parsed page; the caller may change it. */
export type HtmlNode = ReturnType<typeof parseDocument>['children'][number]
type HtmlElement = Extract<HtmlNode, { readonly attribs: unknown }>

/** The limit of browsers; functions on pages are recursive. */
const maxDepth = 512

/**
 * Parses any text as HTML, as browsers do.
 * @throws BatonError SCRIPT_FAILED when elements are nested deeper than 512 levels
 */
export function parseHtml(html: string): HtmlNode[] {
  const { children } = parseDocument(html)
  let level: HtmlNode[] = children
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) {
      throw new BatonError('SCRIPT_FAILED', `the HTML nests elements deeper than ${maxDepth} levels`)
    }
    level = level.flatMap((node) => (isElement(node) ? node.children : []))
  }
  return children
}

/** Nodes as HTML text, with entities only where they are needed. */
function renderHtml(nodes: HtmlNode | readonly HtmlNode[]): string {
  return render(nodes as HtmlNode | HtmlNode[], { encodeEntities: 'utf8' })
}

function isElement(node: HtmlNode): node is HtmlElement {
  return 'attribs' in node
}

/** A selected element. */
export interface SelectedElement {
  /** In lower case. */
  readonly tag: string
  /** Names in lower case, values as in the page. */
  readonly attributes: Readonly<Record<string, string>>
  /** All text in it, without tags. */
  readonly text: string
  readonly innerHtml: string
}

/**
 * The elements that match any of the CSS selectors, in the order of the page, each once.
 * @throws Error saying what is wrong with a selector
 */
export function selectHtml(html: string, selectors: readonly string[]): readonly SelectedElement[] {
  if (selectors.length === 0) return []
  const found = selectAll<HtmlNode, HtmlElement>(selectors.join(', '), parseHtml(html))
  return found.map((element) => ({
    tag: element.name,
    attributes: element.attribs,
    text: DomUtils.textContent(element),
    innerHtml: renderHtml(element.children),
  }))
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Elements that are never displayed, or are not text. */
const removed = words('script style link meta base template noscript svg iframe object embed')
const keptAttributes = words('class aria-label href')
/** Elements that belong to a line of text. */
const inline = words(
  'a abbr b bdi bdo big br button cite code data del dfn em font i img input ins kbd label mark q s samp select small ' +
    'span strike strong sub sup time tt u var wbr',
)
/** Elements that mean something without content. */
const meaningful = words('br hr img input td th col wbr textarea select')
/** Elements that keep white space. */
const verbatim = words('pre textarea')

/**
 * A page without what is not displayed: scripts, styles, comments, inline SVG, attributes other than `class`,
 * `aria-label` and `href`, and elements that are then empty. One block per line, two spaces per level.
 */
export function slimHtml(html: string): string {
  return printNodes(cleanNodes(parseHtml(html)), '').join('\n')
}

function cleanNodes(nodes: readonly HtmlNode[]): HtmlNode[] {
  return nodes.filter((node) => {
    if (!isElement(node)) return node.type !== 'comment'
    if (removed.has(node.name)) return false
    if (!verbatim.has(node.name)) node.children = cleanNodes(node.children)
    node.attribs = Object.fromEntries(Object.entries(node.attribs).filter(([name]) => keptAttributes.has(name)))
    return !isEmpty(node)
  })
}

function isEmpty({ name, attribs, children }: HtmlElement): boolean {
  const hasContent = children.some((child) => !('data' in child) || child.data.trim() !== '')
  return !hasContent && !meaningful.has(name) && Object.keys(attribs).length === 0
}

/** Lines of a list of nodes: one for each block, and one for the text between two blocks. */
function printNodes(nodes: readonly HtmlNode[], indent: string): string[] {
  const lines: string[] = []
  let text: HtmlNode[] = []
  const endText = (): void => {
    const line = printInline(text)
    if (line !== '') lines.push(indent + line)
    text = []
  }
  for (const node of nodes) {
    if (isInline(node)) {
      text.push(node)
      continue
    }
    endText()
    lines.push(...printBlock(node, indent))
  }
  endText()
  return lines
}

function isInline(node: HtmlNode): boolean {
  if (!isElement(node)) return node.type === 'text'
  return inline.has(node.name) && node.children.every(isInline)
}

function printBlock(node: HtmlNode, indent: string): string[] {
  if (!isElement(node) || verbatim.has(node.name)) return [indent + renderHtml(node)]
  const [open = '', close = ''] = tagsOf(node)
  if (node.children.every(isInline)) return [indent + open + printInline(node.children) + close]
  return [indent + open, ...printNodes(node.children, `${indent}  `), indent + close]
}

/** The opening and closing tag of an element; the latter is empty for elements such as `<hr>`. */
function tagsOf(element: HtmlElement): readonly string[] {
  const { children } = element
  element.children = []
  const empty = renderHtml(element)
  element.children = children
  const end = empty.indexOf('>', attributesEnd(empty)) + 1
  return [empty.slice(0, end), empty.slice(end)]
}

function attributesEnd(tag: string): number {
  return tag.lastIndexOf('"') + 1
}

function printInline(nodes: readonly HtmlNode[]): string {
  return renderHtml(nodes).replaceAll(/\s+/g, ' ').trim()
}
