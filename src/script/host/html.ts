import type { HtmlOrigin } from '../../base/markdown-from-html.ts'
import { cutEnd } from '../../base/width.ts'
import type { LuaValue } from '../engine.ts'
import { type HostCall, isLarge } from './call.ts'
import { type HostModule, slow } from './module.ts'
import { trimEnd, trimStart } from './text-lines.ts'

/** `aip.html`. Its code is loaded on the first call. */
export const htmlModule: HostModule = {
  name: 'aip.html',
  functions: {
    /**
     * `aip.html.slim(html) → string`
     * HTML without invisible content such as scripts, styles and comments, indented by two spaces. `class`, `id`,
     * `title`, `aria-label` and `href` are kept; a fragment becomes the `<body>` of a page.
     */
    slim: slow((call) => slimText(call.text(0, 'the HTML')), { isSlow }),
    /** `aip.html.prune_to_content(html) → string` Alias of `aip.html.slim`. */
    prune_to_content: slow((call) => slimText(call.text(0, 'the HTML')), { isSlow }),
    /**
     * `aip.html.to_md(html) → string`
     * HTML as Markdown; `""` returns `""`. The title of a page is the first heading, the others are one level deeper.
     */
    to_md: slow((call) => markdownText(call.text(0, 'the HTML')), { isSlow }),
    /**
     * `aip.html.select(html, selectors?) → {tag, attrs?, text?, inner_html?}[]`
     * The elements that match one of the CSS selectors (a string or a list), in document order. As in a browser,
     * missing `html`, `head`, `body` and `tbody` elements are added first. `text` and `inner_html` are trimmed, and nil
     * if empty. If `selectors` is nil, the list is empty; invalid selectors, and selectors of more than 8192 characters
     * in total, are an error.
     */
    select: slow(select, { isSlow }),
  },
}

/** The algorithm of the HTML standard for misnested elements is cubic in their number. */
function isSlow(args: readonly LuaValue[]): boolean {
  return isLarge(args, mostHtml)
}

export const mostHtml = 2048

/** HTML without invisible content. */
export async function slimText(html: string): Promise<string> {
  const { slimHtml } = await import('../../base/slim-html.ts')
  return slimHtml(html)
}

export async function markdownText(html: string, origin?: HtmlOrigin): Promise<string> {
  const { markdownFromHtml } = await import('../../base/markdown-from-html.ts')
  return markdownFromHtml(html, origin)
}

/** Characters of the selectors that an error shows. */
const mostShown = 200

async function select(call: HostCall): Promise<LuaValue> {
  const page = call.text(0, 'the HTML')
  if (!call.has(1)) return []
  const wanted = call.textList(1, 'the selectors')
  const { selectHtml } = await import('../../base/html.ts')
  const shown = cutEnd(wanted.join(', ').slice(0, mostShown), mostShown - 1)
  const found = call.attempt(() => selectHtml(page, wanted), `cannot select "${shown}": `)
  return found.map(({ tag, attributes, text, innerHtml }) => ({
    tag,
    attrs: Object.keys(attributes).length === 0 ? undefined : attributes,
    text: trimEnd(trimStart(text)) || undefined,
    inner_html: trimEnd(trimStart(innerHtml)) || undefined,
  }))
}
