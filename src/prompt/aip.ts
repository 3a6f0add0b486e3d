import { nextAipFence, type AipFence } from './fences.ts'
import { linesOf, withoutMark } from './lines.ts'

/** Code of a section. `text` has empty lines so that its line numbers are those of the Markdown file. */
export interface AipBlock {
  readonly text: string
  /** The file's line that the first line of code stands on, from 1. */
  readonly line: number
}

export interface AipPart {
  readonly role: 'system' | 'user' | 'assistant'
  /** What stands between the first backticks of the heading, in lower case. */
  readonly optionText?: string
  readonly content: string
  /** Line of the heading, from 1; the content begins on the next. */
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

/** What the lines below a heading are: code before, in and after its fence, a prompt part, or nothing. */
type Position =
  | { readonly kind: 'ignored' }
  | { readonly kind: 'armed' | 'capturing'; readonly section: CodeSection }
  | { readonly kind: 'part'; readonly part: OpenPart }

interface OpenPart extends Omit<AipPart, 'content'> {
  readonly lines: string[]
}

type Code = { [section in CodeSection]?: { text: string[]; line: number } }

/** Splits an `.aip` file into its sections, exactly as spec/aipack.md 1 says. Every text is a valid file. */
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
  return { file, ...blocksOf(code), parts: parts.map(closePart) }
}

/** True for a level-1 heading that begins a section; other headings and all other lines are for readers. */
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

function closePart({ lines, ...part }: OpenPart): AipPart {
  return { ...part, content: `${lines.join('\n')}\n` }
}
