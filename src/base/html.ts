import { selectAll } from 'css-select'
import { parse, parseFragment, serialize } from 'parse5'
import { adapter, type Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter'
import { BatonError } from './error.ts'

export type HtmlNode = Htmlparser2TreeAdapterMap['childNode']
export type HtmlElement = Htmlparser2TreeAdapterMap['element']

/** The limit of browsers, plus `html` and `body`; functions on pages are recursive. */
const maxDepth = 514

/**
 * Parses any text as an HTML page, as browsers do: missing `html`, `head`, `body` and `tbody` are added.
 * @throws BatonError SCRIPT_FAILED if elements are nested deeper than 512 levels
 */
export function parseHtml(html: string): readonly HtmlNode[] {
  return shallow(parse(html, { treeAdapter: limitedAdapter() }).children)
}

/** Parses a part of a page, without the elements around it. @throws BatonError SCRIPT_FAILED as `parseHtml` does */
export function parseHtmlPart(html: string): readonly HtmlNode[] {
  return shallow(parseFragment(html, { treeAdapter: limitedAdapter() }).children)
}

/** Open elements may end up as siblings; and for one tag the standard may require looking at all open elements. */
const maxOpen = 2 * maxDepth

/** Stops parsing when too many elements are open. */
function limitedAdapter(): typeof adapter {
  let open = 0
  return {
    ...adapter,
    onItemPush() {
      open += 1
      if (open > maxOpen) throw tooDeep()
    },
    onItemPop() {
      open -= 1
    },
  }
}

function tooDeep(): BatonError {
  return new BatonError('SCRIPT_FAILED', `the HTML nests elements deeper than ${maxDepth - 2} levels`)
}

function shallow(nodes: readonly HtmlNode[]): readonly HtmlNode[] {
  let level = nodes
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) {
      throw tooDeep()
    }
    const elements = level.filter(isElement)
    for (const element of elements) element.attribs = sorted(element.attribs)
    level = elements.flatMap(({ children }) => children)
  }
  return nodes
}

/** Attributes sorted by name, as in AIPack. */
function sorted(attributes: HtmlElement['attribs']): HtmlElement['attribs'] {
  const names = Object.keys(attributes)
  return names.length < 2
    ? attributes
    : Object.fromEntries(names.toSorted().map((name) => [name, attributes[name] ?? '']))
}

export function isElement(node: HtmlNode): node is HtmlElement {
  return 'attribs' in node
}

/** All text in a node, without tags. */
export function textOf(node: HtmlNode): string {
  if (isElement(node)) return node.children.map(textOf).join('')
  return node.type === 'text' && 'data' in node ? node.data : ''
}

export interface SelectedElement {
  /** In lowercase. */
  readonly tag: string
  /** Names in lowercase, values as in the page. */
  readonly attributes: Readonly<Record<string, string>>
  /** All text in it, without tags. */
  readonly text: string
  readonly innerHtml: string
}

/** Of all selectors together: the library's time is quadratic in their length. */
const mostSelected = 8192

/**
 * The elements that match any of the CSS selectors, in page order, each once.
 * @throws Error saying what is wrong with a selector, or that they have more than 8192 characters
 */
export function selectHtml(html: string, selectors: readonly string[]): readonly SelectedElement[] {
  const given = selectors.filter((selector) => selector.trim() !== '')
  if (given.length === 0) return []
  const all = given.join(', ')
  if (all.length > mostSelected) throw new Error(`the selectors have more than ${mostSelected} characters`)
  const open = given.find((selector) => /[>+~]\s*$/.test(selector))
  // the library treats it as a selector that matches nothing
  if (open !== undefined) throw new Error(`nothing follows the ${open.trim().at(-1) ?? ''} at its end`)
  const found = selectAll<HtmlNode, HtmlElement>(all, [...parseHtml(html)])
  return found.map((element) => ({
    tag: element.name,
    attributes: element.attribs,
    text: textOf(element),
    innerHtml: serialize(element, { treeAdapter: adapter }),
  }))
}
