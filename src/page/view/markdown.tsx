import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import DOMPurify, { type Config } from 'dompurify'
import { Marked, type Tokens } from '../../base/markdown.ts'
import { shallowMarkdown, shallowMarkup } from '../data/shallow-markdown.ts'

/** Longer texts are shown unrendered, because rendering them would freeze the page. */
const longest = 300_000

const marked = new Marked({
  async: false,
  gfm: true,
  renderer: {
    // images are shown as text with their address, and never loaded
    image: ({ text, href }: Tokens.Image) => escaped(`[${text === '' ? 'image' : text}: ${href}]`),
  },
})

export function Markdown({ text }: { readonly text: string }): VNode {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    box.current?.replaceChildren(text.length > longest ? text : rendered(text))
  }, [text])
  return <div ref={box} class={text.length > longest ? 'markdown plain' : 'markdown'} />
}

function rendered(text: string): DocumentFragment | string {
  try {
    return sanitized(shallowMarkup(marked.parse(shallowMarkdown(text), { async: false })))
  } catch {
    // the library overflows the stack
    return text
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

const tags = (
  'a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i kbd li ol ' +
  'p pre s span strong sub summary sup table tbody td th thead tr ul'
).split(' ')

/**
 * Markup allowed in texts of models: text and structure only. No forms, styles, ids or media, and nothing that loads or
 * runs. Images are shown as text, because loading one would disclose the reader to another host.
 */
const allowed: Config = {
  ALLOWED_TAGS: tags,
  ALLOWED_ATTR: ['href', 'title', 'align', 'colspan', 'rowspan', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true,
}

/** Parses markup into safe nodes. Links open in a new tab and send no referrer. */
function sanitized(markup: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markup, { ...allowed, RETURN_DOM_FRAGMENT: true })
  for (const link of fragment.querySelectorAll('a')) {
    link.rel = 'noopener noreferrer'
    link.target = '_blank'
  }
  return fragment
}
