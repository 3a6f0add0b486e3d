import { withoutMark } from '../base/text-lines.ts'
import type { DataText } from '../base/data-text.ts'
import { BatonError, isBatonError, type SourcePlace } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { type AipFence, linesOf, nextAipFence } from './lines.ts'

/** Code of a section. `text` is padded with empty lines so that its line numbers are those of the Markdown file. */
export interface AipBlock {
  readonly text: string
  /** Line of the first line of code in the file, from 1. */
  readonly line: number
}

export interface AipPart {
  readonly role: 'system' | 'user' | 'assistant'
  /** The text between the first backticks of the heading, in lower case. */
  readonly optionText?: string
  readonly content: string
  /** Line of the heading, from 1; the content starts on the next line. */
  readonly line: number
}

export interface AipDocument {
  readonly file: string
  readonly options?: AipBlock
  readonly beforeAll?: AipBlock
  readonly data?: AipBlock
  readonly output?: AipBlock
  readonly afterAll?: AipBlock
  readonly parts: readonly AipPart[]
}

type CodeSection = 'options' | 'beforeAll' | 'data' | 'output' | 'afterAll'

const codeHeadings: Readonly<Record<string, CodeSection | undefined>> = {
  options: 'options',
  'before all': 'beforeAll',
  data: 'data',
  output: 'output',
  'after all': 'afterAll',
}

const promptHeadings: Readonly<Record<string, AipPart['role'] | undefined>> = {
  system: 'system',
  user: 'user',
  inst: 'user',
  instruction: 'user',
  assistant: 'assistant',
  model: 'assistant',
  'mind trick': 'assistant',
  'jedi trick': 'assistant',
}

/** The kind of the lines below a heading: code before, in and after its fence, a prompt part, or nothing. */
type Position =
  | { readonly kind: 'ignored' }
  | { readonly kind: 'armed' | 'capturing'; readonly section: CodeSection }
  | { readonly kind: 'part'; readonly part: OpenPart }

interface OpenPart extends Omit<AipPart, 'content'> {
  readonly lines: string[]
}

type Code = { [section in CodeSection]?: { text: string[]; line: number } }

/** Splits an `.aip` file into its sections (docs/aipack.md "File format"). Every text is a valid file. */
export function parseAip(file: string, text: string): AipDocument {
  const code: Code = {}
  const parts: OpenPart[] = []
  let position: Position = { kind: 'ignored' }
  let fence: AipFence = 'out'
  for (const [index, line] of linesOf(withoutMark(text)).entries()) {
    const before = fence
    fence = nextAipFence(fence, line)
    if (fence === 'out' && before === 'out' && line.startsWith('#') && !line.startsWith('##')) {
      position = readHeading(line, index + 1)
      if (position.kind === 'part') parts.push(position.part)
      continue
    }
    if (position.kind === 'part') position.part.lines.push(line)
    if (position.kind === 'armed' && before === 'out' && opensCode(line, position.section))
      position = { kind: 'capturing', section: position.section }
    else if (position.kind === 'capturing' && fence === 'out') position = { kind: 'ignored' }
    else if (position.kind === 'capturing') addCode(code, position.section, { line, number: index + 1 })
  }
  return {
    file,
    ...blocksOf(code),
    parts: parts.map(({ lines, ...part }) => ({ ...part, content: `${lines.join('\n')}\n` })),
  }
}

/** True for a level-1 heading that starts a section. */
export function isSectionHeading(line: string): boolean {
  return /^#(?!#)/.test(line) && readHeading(line, 0).kind !== 'ignored'
}

function readHeading(line: string, number: number): Position {
  const heading = line.slice(1).trim().toLowerCase()
  const section = Object.hasOwn(codeHeadings, heading) ? codeHeadings[heading] : undefined
  if (section !== undefined) return { kind: 'armed', section }

  const [name = '', optionText, ...rest] = heading.split('`')
  const role = Object.hasOwn(promptHeadings, name.trim()) ? promptHeadings[name.trim()] : undefined
  if (role === undefined) return { kind: 'ignored' }
  const isClosed = optionText !== undefined && rest.length > 0
  return { kind: 'part', part: { role, line: number, lines: [], ...(isClosed ? { optionText } : {}) } }
}

function opensCode(line: string, section: CodeSection): boolean {
  const language = section === 'options' ? 'toml' : 'lua'
  return line.startsWith(`\`\`\`${language}`) || line.startsWith(`\`\`\`\`${language}`)
}

function addCode(
  code: Code,
  section: CodeSection,
  { line, number }: { readonly line: string; readonly number: number },
): void {
  const block = (code[section] ??= { text: [], line: number })
  while (block.text.length < number - 1) block.text.push('')
  block.text.push(line)
}

function blocksOf(code: Code): Pick<AipDocument, CodeSection> {
  return Object.fromEntries(
    Object.entries(code).map(([section, { text, line }]) => [section, { text: `${text.join('\n')}\n`, line }]),
  )
}

/**
 * Parses the `# Options` block of an agent file as TOML; several fences are one document. Keys are not checked.
 * @throws BatonError PROMPT_SYNTAX with line and column in the agent file
 */
export async function readTable(file: string, text: string, block: AipBlock): Promise<DataText> {
  return parseToml({
    file,
    text: withoutMark(text),
    block: block.text,
    firstLine: 1,
    what: 'the Options section',
    code: 'PROMPT_SYNTAX',
  })
}

/** The place of the option string in a prompt heading, which starts after the first backtick. `lines`: of the file. */
export function placeOfOption(heading: SourcePlace, lines: readonly string[]): SourcePlace {
  const line = lines[(heading.line ?? 1) - 1] ?? ''
  const mark = line.indexOf('`')
  return mark === -1 ? heading : { ...heading, column: mark + 2 }
}

const optionHint = 'Write key = value between the backticks: # User `cache = true`.'

/**
 * Parses the option string of a prompt heading: whether to cache the part. A non-empty option string must have `cache`;
 * other keys are ignored. `place` is where it starts.
 * @throws BatonError PROMPT_SYNTAX at the heading
 */
export async function readCacheOption(text: string, place: SourcePlace): Promise<boolean> {
  const options = await readInlineTable(text, place)
  const cache = options['cache']
  if (typeof cache === 'boolean') return cache
  if (cache === undefined && Object.keys(options).length === 0) return false
  const message = cache === undefined ? 'has no "cache"' : 'must set "cache" to true or false'
  throw new BatonError('PROMPT_SYNTAX', `the option of this heading ${message}`, { place, hint: optionHint })
}

/** An inline table whose braces may be omitted. */
async function readInlineTable(text: string, place: SourcePlace): Promise<JsonObject> {
  const trimmed = text.trim()
  const key = 'options = '
  const open = trimmed.startsWith('{') ? '' : '{ '
  try {
    const { data } = await parseToml({
      file: place.file,
      text: place.text ?? '',
      block: `${key}${open}${trimmed}${open === '' ? '' : ' }'}`,
      firstLine: place.line ?? 1,
      what: 'the option of this heading',
      code: 'PROMPT_SYNTAX',
    })
    return data['options'] as JsonObject
  } catch (error) {
    if (!isBatonError(error) || error.place?.column === undefined) throw error
    // the added prefix is not part of the file
    const shift = (place.column ?? 1) - 1 + text.indexOf(trimmed) - key.length - open.length
    throw new BatonError(error.code, error.message, {
      place: { ...place, column: Math.max(1, error.place.column + shift) },
      hint: optionHint,
      cause: error,
    })
  }
}
