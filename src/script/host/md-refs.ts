import { nextAipFence, type AipFence } from '../../prompt/fences.ts'
import { linesOf } from '../../prompt/lines.ts'

export interface MarkdownReference {
  readonly target: string
  /** Undefined when the brackets are empty. */
  readonly text: string | undefined
  /** True for images. */
  readonly inline: boolean
  readonly kind: 'Anchor' | 'File' | 'Url'
}

/** Links and images outside fences and inline code (spec/aipack.md 6.2 `extract_refs`, vectors 69 and 70). */
export function extractReferences(text: string): MarkdownReference[] {
  let fence: AipFence = 'out'
  return linesOf(text).flatMap((line) => {
    const before = fence
    fence = nextAipFence(fence, line)
    return before === 'out' && fence === 'out' ? referencesOf(line) : []
  })
}

function referencesOf(line: string): MarkdownReference[] {
  const references: MarkdownReference[] = []
  let backticks = 0
  let counted = 0
  for (let open = line.indexOf('['); open !== -1;) {
    const close = line.indexOf(']', open + 1)
    if (close === -1) break
    const end = line[close + 1] === '(' ? line.indexOf(')', close + 2) : -1
    if (end <= close + 2) {
      open = line.indexOf('[', close + 1)
      continue
    }
    for (; counted < open; counted += 1) if (line[counted] === '`') backticks += 1
    if (backticks % 2 === 0) {
      const target = line.slice(close + 2, end)
      const label = line.slice(open + 1, close)
      references.push({
        target,
        text: label === '' ? undefined : label,
        inline: line[open - 1] === '!',
        kind: kindOf(target),
      })
    }
    open = line.indexOf('[', end + 1)
  }
  return references
}

function kindOf(target: string): MarkdownReference['kind'] {
  if (target.startsWith('#')) return 'Anchor'
  return /^(?:https?:)?\/\//.test(target) ? 'Url' : 'File'
}
