import { nextAipFence, type AipFence } from '../../prompt/fences.ts'
import { linesOf } from '../../prompt/lines.ts'

export interface MarkdownBlock {
  /** What stands behind the opening fence; empty when nothing does. */
  readonly lang: string
  /** Its lines, each with a newline. */
  readonly content: string
}

/**
 * The fenced blocks of a text, or those of one language, and the text without them (spec/aipack.md 6.2
 * `extract_blocks`, vector 67). A fence that is not closed begins no block and takes no text away.
 */
export function extractBlocks(
  text: string,
  lang?: string,
): { readonly blocks: MarkdownBlock[]; readonly rest: string } {
  const blocks: MarkdownBlock[] = []
  const rest: string[] = []
  let fence: AipFence = 'out'
  let open: string[] = []
  for (const line of linesOf(text)) {
    const before = fence
    fence = nextAipFence(fence, line)
    if (before === 'out' && fence === 'out') rest.push(line)
    else open.push(line)
    if (before === 'out' || fence !== 'out') continue
    const [opening = '', ...inner] = open.slice(0, -1)
    const found = opening.replace(/^`{3,4}/, '').trim()
    if (lang === undefined || lang === found) {
      blocks.push({ lang: found, content: inner.map((content) => `${content}\n`).join('') })
    } else rest.push(...open)
    open = []
  }
  rest.push(...open)
  return { blocks, rest: rest.map((line) => `${line}\n`).join('') }
}

export interface MetaBlock {
  readonly lang: 'toml' | 'json' | 'yaml'
  readonly content: string
  /** Line of the first content line in the text, from 1. */
  readonly firstLine: number
}

const metaOpening = /^```\s*(toml|json|yaml|yml)\s*$/
const metaMark = /^\s*(?:#|\/\/)!meta/

/**
 * The fenced `toml`, `json` and `yaml` blocks whose first line begins with `#!meta` or `//!meta`, and the text without
 * them (spec/aipack.md 6.2 `extract_meta`, vector 68). As in AIPack, a newline at the end of the text is dropped.
 */
export function extractMetaBlocks(text: string): { readonly blocks: MetaBlock[]; readonly rest: string } {
  const lines = linesOf(text)
  const blocks: MetaBlock[] = []
  const rest: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (!line.startsWith('```')) {
      rest.push(line)
      continue
    }
    const end = lines.findIndex((other, at) => at > index && other.startsWith('```'))
    const lang = metaOpening.exec(line)?.[1]
    const last = end === -1 ? lines.length - 1 : end
    if (lang !== undefined && end !== -1 && metaMark.test(lines[index + 1] ?? '')) {
      const content = lines.slice(index + 2, end).join('\n')
      blocks.push({ lang: lang === 'yml' ? 'yaml' : (lang as MetaBlock['lang']), content, firstLine: index + 3 })
    } else rest.push(...lines.slice(index, last + 1))
    index = last
  }
  return { blocks, rest: rest.join('\n') }
}

/** What stands between the first and the last fence when the text begins with one; else the text as it is. */
export function outerBlockContent(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return text
  const lines = linesOf(trimmed)
  const last = lines.findLastIndex((line) => line.startsWith('```'))
  return last > 0 ? `${lines.slice(1, last).join('\n')}\n` : trimmed
}
