import { Marked, type Tokens } from 'marked'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
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
    if (text.length > longest) box.current?.replaceChildren(text)
    else box.current?.replaceChildren(sanitized(marked.parse(text, { async: false })))
  }, [text])
  return <div ref={box} class={text.length > longest ? 'markdown plain' : 'markdown'} />
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
