import { Marked, type Tokens } from 'marked'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { sanitized } from './sanitized.ts'

/** A longer text is shown as it is: making markup of it would stop the page. */
const longest = 300_000

const marked = new Marked({
  async: false,
  gfm: true,
  renderer: {
    // the address is told, and nothing is loaded from it
    image: ({ text, href }: Tokens.Image) => escaped(`[${text === '' ? 'image' : text}: ${href}]`),
  },
})

/** What a model has written, as Markdown. */
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
