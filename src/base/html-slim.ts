import { type HtmlElement, type HtmlNode, isElement, parseHtml, renderHtml } from './html.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Nothing of these is ever seen, or it is no text. */
const removed = words('script style link meta base template noscript svg iframe object embed')
const keptAttributes = words('class aria-label href')
/** What may stand in a line of text. */
const inline = words(
  'a abbr b bdi bdo big br button cite code data del dfn em font i img input ins kbd label mark q s samp select small ' +
    'span strike strong sub sup time tt u var wbr',
)
/** What says something though there is nothing in it. */
const meaningful = words('br hr img input td th col wbr textarea select')
/** White space counts in these. */
const verbatim = words('pre textarea')

/**
 * A page without what is not seen (spec/aipack.md 6.2): scripts, styles, comments, pictures drawn in code, attributes but
 * `class`, `aria-label` and `href`, and elements that are empty then. One block on each line, two spaces per level.
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

/** Lines of a list of nodes: each block on its own, what stands between blocks as lines of text. */
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

/** The tags of an element, as it is written without children; `close` is empty for elements such as `<hr>`. */
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
