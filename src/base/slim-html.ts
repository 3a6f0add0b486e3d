import { type HtmlElement, type HtmlNode, isElement, parseHtml } from './html.ts'
import { escapeMarkup } from './markup.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Elements that are not displayed. */
const removed = words('script link style svg base')
/** Elements that are meaningless when empty. */
const removedWhenEmpty = words('div span p i b em strong section article header footer nav aside')
const keptAttributes = words('class aria-label href title id')
/** Elements that start a new line. */
const blocks = words(
  'html head body title a div p section article header footer nav aside ul ol li table tr td th h1 h2 h3 h4 h5 h6 pre ' +
    'blockquote main form fieldset details summary figure figcaption dl dt dd br hr img input meta',
)
const withoutEnd = words('area br col embed hr img input meta param source track wbr')
/** Elements whose text is not markup. */
const rawText = words('noscript iframe noembed noframes xmp plaintext')

/**
 * A page without the parts that are not displayed: scripts, styles, comments, inline SVG, the head except for the title
 * and descriptions, attributes other than `class`, `id`, `title`, `aria-label` and `href`, and elements that are then
 * empty. One block per line, two spaces per level, as AIPack prints it; but words stay separate, text that looks like a
 * tag remains text, and `pre` keeps its lines.
 * @throws BatonError SCRIPT_FAILED if elements are nested deeper than 512 levels
 */
export function slimHtml(html: string): string {
  const printed = printNodes(parseHtml(html), { inHead: false, depth: 0 })
  const lines = printed.replaceAll(/<(pre|textarea)\b[^]*?<\/\1>|\n(?:[^\S\n]*\n)+/g, (found) =>
    found.startsWith('<') ? found : '\n',
  )
  return lines.replace(/^[^\S\n]*\n/, '').trimEnd()
}

interface Surroundings {
  readonly inHead: boolean
  /** Number of enclosing blocks. */
  readonly depth: number
}

function printNodes(nodes: readonly HtmlNode[], around: Surroundings): string {
  return nodes.map((node, index) => printNode(node, index, { nodes, around })).join('')
}

function printNode(
  node: HtmlNode,
  index: number,
  { nodes, around }: { readonly nodes: readonly HtmlNode[]; readonly around: Surroundings },
): string {
  if (isElement(node)) return printElement(node, around)
  // the contents of a template
  if ('children' in node) return printNodes(node.children, around)
  if (node.type === 'directive') return printDoctype(node)
  if (node.type !== 'text') return ''
  if (node.data.trim() !== '') return isRaw(node) ? node.data : escapeText(node.data)
  return isVerbatim(node) ? node.data : isInline(nodes[index - 1]) && isInline(nodes[index + 1]) ? ' ' : ''
}

type Doctype = HtmlNode & { readonly 'x-name'?: string; readonly 'x-publicId'?: string; readonly 'x-systemId'?: string }

function printDoctype(node: Doctype): string {
  const [name = '', publicId = '', systemId = ''] = [node['x-name'], node['x-publicId'], node['x-systemId']]
  const system = systemId === '' ? '' : ` "${systemId}"`
  const ids = publicId === '' ? system && ` SYSTEM${system}` : ` PUBLIC "${publicId}"${system}`
  return `<!DOCTYPE ${name}${ids}>\n`
}

function printElement(element: HtmlElement, { inHead, depth }: Surroundings): string {
  const { name, children } = element
  if (name === 'html') return printNodes(children, { inHead, depth })
  if (removed.has(name) || (inHead && !isDescription(element))) return ''
  const isHead = inHead || name === 'head'
  const isBlock = blocks.has(name)
  const content = printNodes(children, { inHead: isHead, depth: isBlock ? depth + 1 : depth })
  if (content.trim() === '' && (name === 'head' || (!isHead && removedWhenEmpty.has(name)))) return ''

  const line = isBlock ? `\n${'  '.repeat(depth)}` : ''
  const open = `${line}<${name}${printAttributes(element, isHead)}>`
  if (withoutEnd.has(name)) return open + content
  const hasLines = isBlock && name !== 'pre' && content.includes('\n')
  return `${open}${content}${hasLines ? line : ''}</${name}>`
}

/** The title, and descriptions for pages that link here. */
function isDescription({ name, attribs }: HtmlElement): boolean {
  return name === 'title' || (name === 'meta' && /title|url|image|description/i.test(attribs['property'] ?? ''))
}

function printAttributes({ name, attribs }: HtmlElement, inHead: boolean): string {
  const isKept = (key: string): boolean =>
    inHead ? name === 'meta' && (key === 'property' || key === 'content') : keptAttributes.has(key)
  return Object.entries(attribs)
    .filter(([key]) => isKept(key))
    .map(([key, value]) => ` ${key}="${escapeMarkup(value)}"`)
    .join('')
}

/** Escapes only what would be read as a tag or an entity. */
function escapeText(text: string): string {
  return text.replaceAll(/<(?=[a-zA-Z/!?])|&(?=#\d|#[xX][\da-fA-F]|[a-zA-Z][a-zA-Z\d]*;)/g, escapeMarkup)
}

function isRaw({ parent }: HtmlNode): boolean {
  return parent !== null && 'name' in parent && rawText.has(parent.name)
}

function isVerbatim({ parent }: HtmlNode): boolean {
  for (let node = parent; node !== null; node = node.parent) {
    if ('name' in node && (node.name === 'pre' || node.name === 'textarea')) return true
  }
  return false
}

function isInline(node: HtmlNode | undefined): boolean {
  if (node === undefined) return false
  return isElement(node) ? !blocks.has(node.name) && !removed.has(node.name) : node.type === 'text'
}
