import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { liveBlocks } from '../data/live-texts.ts'
import { Markdown } from './markdown.tsx'

/** An answer in progress, rendered while it grows. */
export function LiveText({ text }: { readonly text: string }): VNode {
  const blocks = useMemo(() => liveBlocks(text), [text])
  return (
    <div class="live-text">
      {blocks.map((block, index) => (
        <Markdown key={index} text={block} />
      ))}
    </div>
  )
}
