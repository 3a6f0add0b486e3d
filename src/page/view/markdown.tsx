import { Marked, type Tokens } from 'marked'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { shallowMarkdown, shallowMarkup } from '../data/shallow-markdown.ts'
import { sanitized } from './sanitized.ts'

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

/** Renders text of a model as Markdown. */
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
