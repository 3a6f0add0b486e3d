import { isBlank } from '../base/text-lines.ts'
import { BatonError } from '../base/error.ts'
import { isReserved, reserved } from '../settings/keys.ts'
import { linesOf, type MarkdownFence, nextMarkdownFence } from './lines.ts'

/** The text of a prompt file. Lines are counted from 0 here, from 1 in errors. */
export interface PromptText {
  readonly file: string
  /** Without a byte order mark. */
  readonly text: string
  readonly lines: readonly string[]
}

/** A block of front matter: its first and its closing line, marks included. */
export interface MetaBlock {
  readonly language: 'toml' | 'yaml'
  readonly start: number
  readonly end: number
  /** Number of leading lines that are not data: the opening mark, and `#!meta` in fences. */
  readonly head: number
  /** Only empty lines and comments stand above it, which are not part of the instruction. */
  readonly isAlone: boolean
}

/** A fenced `#!meta` block; without `end` it is not closed. */
interface MetaFence {
  readonly language: string
  readonly start: number
  readonly end?: number
}

export interface Layout {
  /** Line of the `====` that starts the transcript, if any. */
  readonly transcript: number | undefined
  readonly leading: MetaBlock | undefined
  /** Fenced `#!meta` blocks above the transcript, in order. */
  readonly fences: readonly MetaFence[]
}

/**
 * Finds the parts of a prompt file. Front matter is a block between `+++` (TOML) or `---` (YAML) lines at the start,
 * optionally after empty lines, or a fenced `#!meta` block. Above the lines may also stand HTML comments and a first
 * line `#!/…`, if a reserved key is between them. The transcript starts at a line that is exactly `====`,
 * outside fences, at the start or after an empty line, so that a Setext heading is not cut; below a `#!meta` block the
 * empty line is not needed. Nothing below that line is read.
 * @throws BatonError PROMPT_SYNTAX if the block at the start is not closed, or too long
 */
export function findLayout(prompt: PromptText): Layout {
  const leading = findLeadingBlock(prompt)
  const { lines } = prompt
  const first = leading === undefined ? 0 : leading.end + 1
  const fences: MetaFence[] = []
  let fence: MarkdownFence | undefined
  let open: MetaFence | undefined
  for (let index = first; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const before = fence
    fence = nextMarkdownFence(fence, line)
    if (before === undefined && fence === undefined) {
      const isFree = index === first || isBlank(lines[index - 1]) || fences.length > 0
      if (line === '====' && isFree) return { leading, transcript: index, fences }
      continue
    }
    if (before === undefined && fence !== undefined && /^(?:#|\/\/)!meta\b/.test(lines[index + 1] ?? ''))
      open = { start: index, language: fence.language }
    if (fence === undefined && open !== undefined) {
      fences.push({ ...open, end: index })
      open = undefined
    }
  }
  return { leading, transcript: undefined, fences: open === undefined ? fences : [...fences, open] }
}

/**
 * Offset of the `====` line in a text without byte order mark; undefined if there is none.
 * @throws BatonError as `findLayout`
 */
export function transcriptOffset({ file, text }: Pick<PromptText, 'file' | 'text'>): number | undefined {
  const { transcript } = findLayout({ file, text, lines: linesOf(text) })
  return transcript === undefined ? undefined : lineOffset(text, transcript)
}

/** Offset of the first character of a line. */
export function lineOffset(text: string, line: number): number {
  let offset = 0
  for (let index = 0; index < line; index += 1) offset = text.indexOf('\n', offset) + 1
  return offset
}

/** Front matter is settings, not data: far above any real size, and limits the work of the YAML parser. */
const maxBlockCharacters = 1_000_000

function findLeadingBlock(prompt: PromptText): MetaBlock | undefined {
  const { lines, text } = prompt
  const above = /^(?:#!\/[^\n]*(?:\n|$))?(?:\s+|<!--[^]*?-->)*/.exec(text)?.[0] ?? ''
  const start = above.split('\n').length - 1
  const mark = lines[start]?.replace(/^\uFEFF+/, '').trimEnd()
  if (mark !== '+++' && mark !== '---') return undefined
  const language = mark === '+++' ? 'toml' : 'yaml'
  const end = lines.findIndex((line, index) => index > start && line.trimEnd() === mark)
  const inside = lines.slice(start + 1, end === -1 ? paragraphEnd(lines, start + 1) : end)
  if (above.trim() !== '' && !hasReservedKey(inside, language)) return undefined
  if (end !== -1) return checkSize({ language, start, end, head: 1, isAlone: true }, prompt)
  throw syntaxError(
    `the front matter starts with ${mark} but is not closed`,
    mark === '+++' ? 'End it with a line +++.' : 'End it with a line ---; a rule at the start is written ***.',
    { prompt, line: start },
  )
}

function paragraphEnd(lines: readonly string[], from: number): number {
  const end = lines.findIndex((line, index) => index >= from && isBlank(line))
  return end === -1 ? lines.length : end
}

const names = [...reserved.keys()].filter(isReserved).join('|')
const reservedKeys = {
  toml: new RegExp(`^\\s*(?:\\[{1,2}\\s*)?["']?(?:${names})["']?\\s*[=.\\]]`),
  yaml: new RegExp(`^["']?(?:${names})["']?\\s*:(?:\\s|$)`),
}

/** Whether a line sets a reserved key; the lines need not be valid. */
function hasReservedKey(lines: readonly string[], language: 'toml' | 'yaml'): boolean {
  return lines.some((line) => reservedKeys[language].test(line))
}

/**
 * Blocks of a prompt file without front matter that look like it, but have text above them: pairs of equal marks,
 * outside fences, with a reserved key between them.
 */
export function lookalikeBlocks({ lines }: Pick<PromptText, 'lines'>, { transcript }: Layout): readonly MetaBlock[] {
  const marks: { readonly line: number; readonly mark: string }[] = []
  let fence: MarkdownFence | undefined
  for (const [line, text] of lines.slice(0, transcript).entries()) {
    fence = nextMarkdownFence(fence, text)
    const mark = text.trim()
    if (fence === undefined && (mark === '+++' || mark === '---')) marks.push({ line, mark })
  }
  return marks.flatMap(({ line: start, mark }, index) => {
    const end = marks.find((other, at) => at > index && other.mark === mark)?.line
    const language = mark === '+++' ? 'toml' : 'yaml'
    const isLikely = end !== undefined && hasReservedKey(lines.slice(start + 1, end), language)
    return isLikely ? [{ language, start, end, head: 1, isAlone: true }] : []
  })
}

/** Text at the start of a file without front matter that was probably meant as such: it is sent to the model. */
export function unmarkedSettings(
  lines: readonly string[],
): { readonly line: number; readonly message: string; readonly hint: string } | undefined {
  const start = lines.findIndex((line) => !isBlank(line))
  const first = lines[start]?.trimEnd() ?? ''
  const isFence = /^(?:`{3,}|~{3,})\s*(?:toml|ya?ml)(?!\S)/i.test(first)
  if (!isFence && !/^(?:\+{4,}|-{4,})$/.test(first)) return undefined
  const language = isFence ? (/toml/i.test(first) ? 'toml' : 'yaml') : first.startsWith('+') ? 'toml' : 'yaml'
  const mark = isFence ? (/^[`~]+/.exec(first)?.[0] ?? '') : first
  const end = lines.findIndex((line, index) => index > start && line.trimEnd() === mark)
  const inside = lines.slice(start + 1, end)
  const table = inside.findIndex((line) => line.startsWith('['))
  // files of other programs have names, too, and tables with any key
  const own = (table === -1 ? inside : inside.slice(0, table + 1)).filter(
    (line) => !/^(?:name|description)\b/.test(line),
  )
  if (end === -1 || !hasReservedKey(own, language)) return undefined
  const message = 'this looks like front matter, but is not marked as such: it is sent to the model as text'
  const other = language === 'toml' ? '+++' : '---'
  const hint = isFence
    ? `Write a line #!meta below the first line, or put the settings between lines ${other}.`
    : `Write ${other}, with three characters.`
  return { line: start + 1, message, hint }
}

/** The error for front matter with text above it: its settings would be ignored, and sent to the model. */
export function misplacedBlock(prompt: PromptText, { start }: MetaBlock): BatonError {
  return syntaxError(
    'this looks like front matter, but it is not at the start of the file, so its settings would be ignored',
    'Move it to the start: only empty lines and comments <!-- … --> may stand above it. If it is text, put it into a code fence.',
    { prompt, line: start },
  )
}

/**
 * The one block that is front matter, if any.
 * @throws BatonError PROMPT_SYNTAX for two blocks, an unclosed block, or one in another language
 */
export function metaBlock(prompt: PromptText, { leading, fences: [first, second] }: Layout): MetaBlock | undefined {
  if (first === undefined) return leading
  const { start, end } = first
  const other = leading === undefined ? second?.start : start
  if (other !== undefined) {
    const message = `the file has front matter twice: on line ${(leading?.start ?? start) + 1} and on line ${other + 1}`
    throw syntaxError(message, 'Put all keys into one block.', { prompt, line: other })
  }
  const language = first.language === 'yml' ? 'yaml' : first.language
  if (language !== 'toml' && language !== 'yaml') {
    const named = first.language === '' ? 'no language' : `the language "${first.language}"`
    const message = `the #!meta block has ${named}`
    throw syntaxError(message, 'Start it with ```toml or ```yaml.', { prompt, line: start })
  }
  if (end === undefined) {
    const hint = 'End it with the same marks that it starts with.'
    throw syntaxError('the #!meta block is not closed', hint, { prompt, line: start })
  }
  return checkSize({ language, start, end, head: 2, isAlone: false }, prompt)
}

function checkSize(block: MetaBlock, prompt: PromptText): MetaBlock {
  let size = 0
  for (let index = block.start; index < block.end; index += 1) size += (prompt.lines[index]?.length ?? 0) + 1
  if (size <= maxBlockCharacters) return block
  const hint = 'Close it earlier, or move the data into files.'
  throw syntaxError('the front matter is longer than 1 MB', hint, { prompt, line: block.start })
}

function syntaxError(
  message: string,
  hint: string,
  { prompt: { file, text }, line }: { readonly prompt: PromptText; readonly line: number },
): BatonError {
  return new BatonError('PROMPT_SYNTAX', message, { hint, place: { file, text, line: line + 1, column: 1 } })
}
