import { nextMarkdownFence, type MarkdownFence } from './fences.ts'
import { isBlank } from './lines.ts'

/** A fenced block with the lines of the file it covers: indices from 0, `end` is its closing line or undefined. */
export interface MetaFence {
  readonly start: number
  readonly end: number | undefined
  readonly language: string
}

export interface Body {
  /** Index of the `====` line; undefined when there is none. */
  readonly transcript: number | undefined
  /** Fenced `#!meta` blocks above it, in order. */
  readonly metas: readonly MetaFence[]
}

/**
 * Reads the lines from `first` on: where the transcript begins, and which fenced blocks are front matter.
 * The transcript begins at a line exactly `====`, outside fences, after an empty line or nothing; below a `#!meta`
 * block the empty line is not needed, and a Setext heading is not cut (DESIGN 4). What follows is not looked at.
 */
export function readBody(lines: readonly string[], first: number): Body {
  const metas: MetaFence[] = []
  let fence: MarkdownFence | undefined
  let meta: { readonly start: number; readonly language: string } | undefined
  for (let index = first; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const before = fence
    fence = nextMarkdownFence(fence, line)
    if (before === undefined && fence === undefined) {
      const isFree = index === first || isBlank(lines[index - 1]) || metas.length > 0
      if (line === '====' && isFree) return { transcript: index, metas }
      continue
    }
    if (before === undefined && fence !== undefined && isMetaMark(lines[index + 1]))
      meta = { start: index, language: fence.language }
    if (fence === undefined && meta !== undefined) {
      metas.push({ ...meta, end: index })
      meta = undefined
    }
  }
  if (meta !== undefined) metas.push({ ...meta, end: undefined })
  return { transcript: undefined, metas }
}

function isMetaMark(line: string | undefined): boolean {
  return line !== undefined && /^(?:#|\/\/)!meta\b/.test(line)
}
