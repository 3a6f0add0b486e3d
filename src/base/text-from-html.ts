import { type HtmlNode, isElement, parseHtml } from './html.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Elements that are not displayed as text. */
const unseen = words('script style template svg object iframe noscript')
/** Elements that start a new line. */
const blocks = words(
  'address article aside body br caption dd details dialog div dl dt fieldset figcaption figure footer form header hr ' +
    'li main nav option section summary title tr',
)
/** Blocks with an empty line around them. */
const paragraphs = words('blockquote h1 h2 h3 h4 h5 h6 ol p pre table title ul')

/**
 * The words of a page without markup, roughly as a browser shows them: the title first, blocks on separate lines, an
 * empty line between paragraphs, tabs between the cells of tables. Import this file lazily.
 * @throws BatonError SCRIPT_FAILED if elements are nested deeper than 512 levels
 */
export function textFromHtml(html: string): string {
  const output = createLines()
  addNodes(parseHtml(html), output, { isPre: false })
  return output.text()
}

type Lines = ReturnType<typeof createLines>

interface Around {
  /** White space is kept. */
  readonly isPre: boolean
}

function addNodes(nodes: readonly HtmlNode[], output: Lines, around: Around): void {
  for (const node of nodes) {
    if (isElement(node)) addElement(node, output, around)
    else if (node.type === 'text' && 'data' in node) output.add(node.data, around)
  }
}

function addElement({ name, children }: Extract<HtmlNode, { attribs: unknown }>, output: Lines, around: Around): void {
  if (unseen.has(name)) return
  const breaks = paragraphs.has(name) ? 2 : blocks.has(name) ? 1 : 0
  output.endLine(breaks)
  if (name === 'td' || name === 'th') output.tab()
  addNodes(children, output, { isPre: around.isPre || name === 'pre' || name === 'textarea' })
  output.endLine(breaks)
}

/** Normal text: white space is written before the next word, and never at an end. */
function createLines() {
  const pieces: string[] = []
  let breaks = 0
  let blank = ''

  function put(text: string): void {
    if (pieces.length > 0) pieces.push(breaks > 0 ? '\n'.repeat(breaks) : blank)
    pieces.push(text)
    breaks = 0
    blank = ''
  }

  return {
    add(text: string, { isPre }: Around): void {
      if (isPre && text.trim() !== '') return put(text.replace(/^\n/, '').trimEnd())
      if (/^\s/.test(text)) blank ||= ' '
      const shown = text.trim().replaceAll(/\s+/g, ' ')
      if (shown === '') return
      put(shown)
      if (/\s$/.test(text)) blank = ' '
    },
    endLine(count: number): void {
      breaks = Math.max(breaks, count)
    },
    tab(): void {
      blank = '\t'
    },
    text: () => pieces.join(''),
  }
}
