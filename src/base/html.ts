import { selectAll } from 'css-select'
import render from 'dom-serializer'
import { DomUtils, parseDocument } from 'htmlparser2'
import { BatonError } from './error.ts'

/** A node of a page that was read; the caller may change it. */
export type HtmlNode = ReturnType<typeof parseDocument>['children'][number]
export type HtmlElement = Extract<HtmlNode, { readonly attribs: unknown }>

/** As browsers have it; what works on pages is recursive. */
const maxDepth = 512

/**
 * Reads any text as HTML, as browsers do.
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

/** HTML text of nodes; entities only where they are needed. */
export function renderHtml(nodes: HtmlNode | readonly HtmlNode[]): string {
  return render(nodes as HtmlNode | HtmlNode[], { encodeEntities: 'utf8' })
}

export function isElement(node: HtmlNode): node is HtmlElement {
  return 'attribs' in node
}

/** One element that was selected. */
export interface SelectedElement {
  /** In lower case. */
  readonly tag: string
  /** Names in lower case, values as they stand in the page. */
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
