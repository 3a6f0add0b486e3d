import { messageOf } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { jsonStringEnd } from '../base/json-text.ts'
import { parseJsonc } from '../base/jsonc.ts'
import { type MarkdownFence, nextMarkdownFence } from '../prompt/fences.ts'

/** A part of a text that is JSON or was meant to be. */
export type JsonPart =
  | { readonly kind: 'json'; readonly text: string; readonly value: Json }
  | { readonly kind: 'broken'; readonly text: string; readonly reason: string }

/**
 * The JSON in an answer: the whole text; else what its fenced blocks hold that are marked `json` or nothing; else each
 * outermost `{…}` and `[…]`. An opening mark without its end reaches to the end of the text, and what stands inside a
 * broken part is never taken for the answer: it would be a piece of one that was cut.
 */
export function findJson(text: string): readonly JsonPart[] {
  const whole = readPart(text)
  if (whole.kind === 'json') return [whole]
  const fenced = fencedBlocks(text)
  return (fenced.length > 0 ? fenced : outermostValues(text)).map(readPart)
}

function readPart(part: string): JsonPart {
  const text = part.trim()
  try {
    return { kind: 'json', text, value: JSON.parse(text) as Json }
  } catch (error) {
    return { kind: 'broken', text, reason: syntaxProblem(text) ?? messageOf(error) }
  }
}

/** With line and column, which `JSON.parse` does not always say; undefined where only strict readers stop. */
function syntaxProblem(text: string): string | undefined {
  try {
    parseJsonc(text)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

function fencedBlocks(text: string): readonly string[] {
  const blocks: string[] = []
  let open: MarkdownFence | undefined
  let content: string[] = []
  const close = (language: string): void => {
    const block = content.join('\n').trim()
    if (/^json[c5]?$/.test(language) || (language === '' && /^[{[]/.test(block))) blocks.push(block)
    content = []
  }
  for (const line of text.split(/\r?\n/)) {
    const next = nextMarkdownFence(open, line)
    if (open !== undefined && next === undefined) close(open.language)
    else if (open !== undefined) content.push(line)
    open = next
  }
  if (open !== undefined) close(open.language)
  return blocks
}

function outermostValues(text: string): readonly string[] {
  const values: string[] = []
  const opening = /[{[]/g
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const end = valueEnd(text, match.index)
    values.push(text.slice(match.index, end))
    opening.lastIndex = end
  }
  return values
}

/** The offset behind the object or list that opens at `start`; the end of the text when it is not closed. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  for (let index = start; index < text.length;) {
    const character = text[index]
    if (character === '"') {
      index = jsonStringEnd(text, index)
      continue
    }
    index += 1
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    if (depth === 0) return index
  }
  return text.length
}
