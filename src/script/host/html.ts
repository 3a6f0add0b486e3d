import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, text, textList } from './arguments.ts'
import type { HostModule, ModuleFunction } from './module.ts'
import { trimEnd, trimStart } from './text-trim.ts'

/** `aip.html` (spec/aipack.md 6.2, vectors 80 and 81). All of it acts only to be able to wait for its code. */
export const htmlModule: HostModule = {
  name: 'aip.html',
  functions: {
    /**
     * `aip.html.slim(html) → string`
     * HTML without what is not seen, such as scripts, styles and comments, indented by two blanks.
     */
    slim: converting('slim', slimText),
    /**
     * `aip.html.prune_to_content(html) → string`
     * Another name of `aip.html.slim`.
     */
    prune_to_content: converting('prune_to_content', slimText),
    /**
     * `aip.html.to_md(html) → string`
     * HTML as Markdown; `""` gives `""`.
     */
    to_md: converting('to_md', markdownText),
    /**
     * `aip.html.select(html, selectors?) → {tag, attrs?, text, inner_html}[]`
     * The elements that match one of the CSS selectors (a string or a list), in the order of the page. `text` and
     * `inner_html` are trimmed. nil as selectors gives an empty list; a selector that cannot be read is an error.
     */
    select: { effect: 'act', call: async ([html, selectors]) => [await select(html, selectors)] },
  },
}

/** HTML without what is not seen. */
export async function slimText(html: string): Promise<string> {
  const { slimHtml } = await import('../../base/html-slim.ts')
  return slimHtml(html)
}

/** HTML as Markdown. */
export async function markdownText(html: string): Promise<string> {
  const { markdownFromHtml } = await import('../../base/markdown-from-html.ts')
  return markdownFromHtml(html)
}

function converting(short: string, convert: (html: string) => Promise<string>): ModuleFunction {
  return { effect: 'act', call: async ([html]) => [await convert(text(html, `aip.html.${short}`, 'the HTML'))] }
}

async function select(html: LuaValue, selectors: LuaValue): Promise<LuaValue> {
  const name = 'aip.html.select'
  const page = text(html, name, 'the HTML')
  if (selectors === undefined || selectors === null) return []
  const wanted = textList(selectors, name, 'the selectors')
  const { selectHtml } = await import('../../base/html.ts')
  try {
    return selectHtml(page, wanted).map(({ tag, attributes, text: inside, innerHtml }) => ({
      tag,
      attrs: Object.keys(attributes).length === 0 ? undefined : attributes,
      text: trimEnd(trimStart(inside)),
      inner_html: trimEnd(trimStart(innerHtml)),
    }))
  } catch (error) {
    throw argumentError(name, `cannot select "${wanted.join(', ')}": ${messageOf(error)}`)
  }
}
