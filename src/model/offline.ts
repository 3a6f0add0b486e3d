import MiniSearch from 'minisearch'
import { type Message, textOf } from '../event/message.ts'
import type { ModelEvent, ModelProvider } from './provider.ts'
import { isBlank } from '../base/text-lines.ts'

/** Limits: quotes in all, quotes per file, and the lowest score, relative to the best one. */
const maxQuotes = 5
const maxQuotesOfFile = 3
const leastScore = 0.3

/** Longer quoted lines are truncated: minified files are not meant to be read. */
const maxLineLength = 400

/**
 * `offline::extractive`: answers without a model, by quoting the passages of the given files that match the instruction
 * best. The same request always gives the same answer. Its usage is one call with zero tokens.
 */
export function createOfflineProvider(): ModelProvider {
  return {
    name: 'offline',
    callsTools: false,
    usesTokens: false,
    async *stream({ messages }, signal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted()
      for (const text of chunks(extractiveAnswer(messages))) {
        yield { type: 'text', block: 0, text }
        signal.throwIfAborted()
      }
      yield { type: 'usage', usage: { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 } }
      yield { type: 'finish', reason: 'stop' }
    },
  }
}

/** The whole answer as Markdown: a sentence that explains it, then `path:first-last` headings with fenced quotes. */
export function extractiveAnswer(messages: readonly Message[]): string {
  const files = filesOf(messages)
  if (files.length === 0) {
    return 'No files were given as context, so there is nothing to quote: the built-in `offline::extractive` is not a model and only finds passages by full-text ranking.\n'
  }
  const asked = messages.findLast(({ role }) => role === 'user')
  const instruction = asked === undefined ? '' : splitFiles(textOf(asked)).rest
  const best = rank(files.flatMap(splitPassages), searchWords(instruction))
  const given = `${files.length} given ${files.length === 1 ? 'file' : 'files'}`
  if (best.length === 0) {
    return `No passage of the ${given} shares a word with the instruction, so nothing is quoted: the built-in \`offline::extractive\` is not a model and only finds passages by full-text ranking.\n`
  }
  const first = `These passages of the ${given} were found by full-text ranking against the instruction and are quoted as they are; they were not written, chosen or checked by a model.`
  return `${[first, ...best.map(quote)].join('\n\n')}\n`
}

function rank(passages: readonly Passage[], words: readonly string[]): Passage[] {
  const index = new MiniSearch<{ readonly id: number; readonly path: string; readonly text: string }>({
    fields: ['text', 'path'],
    tokenize: wordsOf,
    processTerm: stem,
  })
  index.addAll(passages.map(({ path, text }, id) => ({ id, path, text })))
  const found = index
    .search(words.join(' '), {
      boost: { path: 2 },
      prefix: (word) => word.length > 3,
      weights: { prefix: 0.5, fuzzy: 0 },
    })
    .map(({ id, score }) => ({ id: Number(id), score }))
    .toSorted((left, right) => right.score - left.score || left.id - right.id)
  return pick(found, passages)
}

function pick(
  found: readonly { readonly id: number; readonly score: number }[],
  passages: readonly Passage[],
): Passage[] {
  const picked: Passage[] = []
  const least = (found[0]?.score ?? 0) * leastScore
  for (const { id, score } of found) {
    const passage = passages[id]
    if (passage === undefined || score < least || picked.length === maxQuotes) break
    if (picked.filter(({ path }) => path === passage.path).length < maxQuotesOfFile) picked.push(passage)
  }
  return picked
}

function quote({ path, first, last, text }: Passage): string {
  const runs = text.match(/`{3,}/g) ?? []
  const fence = '`'.repeat(runs.reduce((length, run) => Math.max(length, run.length + 1), 3))
  const language = /\.([\w-]+)$/.exec(path)?.[1] ?? ''
  const lines = text
    .split('\n')
    .map((line) => (line.length > maxLineLength ? `${line.slice(0, maxLineLength)} […]` : line))
  return `### ${path}:${first}-${last}\n\n${fence}${language}\n${lines.join('\n')}\n${fence}`
}

/** Chunks of a few lines, so that the answer is shown like a streamed one. */
function chunks(answer: string): readonly string[] {
  return answer.match(/(?:[^\n]*\n){1,8}|[^\n]+$/g) ?? []
}

/** Lines of a file that belong together. Lines are counted from 1; both ends are inclusive and not blank. */
export interface Passage {
  readonly path: string
  readonly first: number
  readonly last: number
  readonly text: string
}

/** Passages with fewer lines than `small` are joined with the next one; those with more than `large` are split. */
const small = 4
const large = 40

interface Span {
  /** Line indices; `end` is exclusive. */
  readonly start: number
  readonly end: number
}

/**
 * Splits a file along its structure: a heading, or an unindented line after a blank one, starts a passage. So a
 * function stays whole, with the comment above it; short passages are joined; long ones are split at a blank line near
 * the limit.
 */
export function splitPassages({ path, lines }: ContextFile): readonly Passage[] {
  const spans = joinSmall(naturalSpans(lines), lines).flatMap((span) => cutLarge(span, lines))
  return spans.flatMap((span) => {
    const { start, end } = trim(span, lines)
    if (start >= end) return []
    return [{ path, first: start + 1, last: end, text: lines.slice(start, end).join('\n') }]
  })
}

function naturalSpans(lines: readonly string[]): Span[] {
  const starts = lines.flatMap((_, index) => (index === 0 || beginsSpan(lines, index) ? [index] : []))
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? lines.length }))
}

function beginsSpan(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? ''
  return isHeading(line) || (isBlank(lines[index - 1]) && /^[^\s)\]}]/.test(line))
}

function joinSmall(spans: readonly Span[], lines: readonly string[]): Span[] {
  const joined: Span[] = []
  for (const span of spans) {
    const before = joined.at(-1)
    if (before !== undefined && isSmall(before, lines) && !startsSection(before, { next: span, lines })) {
      joined[joined.length - 1] = { start: before.start, end: span.end }
      continue
    }
    joined.push(span)
  }
  return joined
}

function isSmall({ start, end }: Span, lines: readonly string[]): boolean {
  return lines.slice(start, end).filter((line) => !isBlank(line)).length < small
}

/** A heading starts a passage, except directly below another heading without text. */
function startsSection(
  before: Span,
  { next, lines }: { readonly next: Span; readonly lines: readonly string[] },
): boolean {
  if (!isHeading(lines[next.start])) return false
  return lines.slice(before.start, before.end).some((line) => !isBlank(line) && !isHeading(line))
}

function cutLarge(span: Span, lines: readonly string[]): Span[] {
  const pieces: Span[] = []
  let { start } = span
  while (span.end - start > large) {
    const end = cutNear(start + large, { from: start + large / 2, lines })
    pieces.push({ start, end })
    start = end
  }
  return [...pieces, { start, end: span.end }]
}

function cutNear(limit: number, { from, lines }: { readonly from: number; readonly lines: readonly string[] }): number {
  for (let index = limit; index > from; index -= 1) if (isBlank(lines[index])) return index
  return limit
}

function trim({ start, end }: Span, lines: readonly string[]): Span {
  let first = start
  let last = end
  while (first < last && isBlank(lines[first])) first += 1
  while (last > first && isBlank(lines[last - 1])) last -= 1
  return { start: first, end: last }
}

function isHeading(line: string | undefined): boolean {
  return /^#{1,6} \S/.test(line ?? '')
}

/** A file found in the messages of a request. `lines[0]` is line 1 of the file. */
interface ContextFile {
  readonly path: string
  readonly lines: readonly string[]
}

const opening = /^<file path="([^"]+)"(?: lines="(\d+)")?(?: ends_with="([^"]+)")?[^>]*>$/
const closingTag = '/file'

/**
 * Finds blocks that consist of `<file path="src/a.ts">`, the file's lines verbatim, and `</file>`, each tag on its own
 * line. With `lines="N"` exactly N lines are taken, whatever they contain. Without it, a block ends at the last closing
 * line before the next opening one, so a file may itself contain closing lines; `ends_with="…"` sets a different
 * closing line. `rest` is everything outside the blocks.
 */
export function splitFiles(text: string): { readonly files: readonly ContextFile[]; readonly rest: string } {
  const lines = text.split('\n')
  const files: ContextFile[] = []
  const rest: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const [, path, count, end = closingTag] = opening.exec(line) ?? []
    const last = path === undefined ? -1 : endOfBlock(lines, { start: index + 1, count, closing: `<${end}>` })
    if (path === undefined || last === -1) {
      rest.push(line)
      continue
    }
    files.push({ path: unescape(path), lines: lines.slice(index + 1, last) })
    index = last
  }
  return { files, rest: rest.join('\n').trim() }
}

/** The files of all messages, in order and without duplicates. */
function filesOf(messages: readonly Message[]): readonly ContextFile[] {
  const seen = new Map<string, ContextFile>()
  for (const message of messages) {
    for (const file of splitFiles(textOf(message)).files) seen.set(`${file.path}\n${file.lines.join('\n')}`, file)
  }
  return [...seen.values()]
}

function endOfBlock(
  lines: readonly string[],
  { start, count, closing }: { readonly start: number; readonly count: string | undefined; readonly closing: string },
): number {
  if (count !== undefined && lines[start + Number(count)] === closing) return start + Number(count)
  let end = -1
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line === closing) end = index
    else if (end !== -1 && opening.test(line)) break
  }
  return end
}

function unescape(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

const commonWords = new Set(
  `a about all an and any are as at be by can could do does each every explain file files find for from give has have how
  i if in into is it its list make me my no not of on one only or our please show so some tell than that the their them
  then there these they this to use used using was we what when where which who why will with would write you your`.split(
    /\s+/,
  ),
)

/**
 * The words of a text in lower case; `camelCase`, `snake_case` and `kebab-case` names are also split into their parts.
 */
export function wordsOf(text: string): string[] {
  const names = text.match(/[\p{L}\p{N}_]+/gu) ?? []
  return names.flatMap((name) => {
    const parts = name
      .split(/_|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u)
      .filter((part) => part !== '')
    return (parts.length > 1 ? [name, ...parts] : parts).map((part) => part.toLowerCase())
  })
}

/** A word normalized for comparison: without a plural s. */
function stem(word: string): string {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

/** The search terms: distinct words of the instruction without stop words, at most 200. */
function searchWords(instruction: string): string[] {
  const words = wordsOf(instruction).filter((word) => word.length > 1 && !commonWords.has(word))
  return [...new Set(words.map(stem))].slice(0, 200)
}
