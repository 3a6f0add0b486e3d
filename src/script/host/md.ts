import { BatonError, messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { type ExactJson, type ExactTable, JsonSyntaxError, parseStrictJson } from '../../base/json-text.ts'
import { type HostCall, isTable, type LuaTable, luaTypeName, Options } from './call.ts'
import { type HostModule, several, slow } from './module.ts'
import { type AipFence, linesOf, nextAipFence } from '../../prompt/lines.ts'
import { lineSpans } from './text-lines.ts'

/** `aip.md`. */
export const mdModule: HostModule = {
  name: 'aip.md',
  functions: {
    /**
     * `aip.md.extract_blocks(text, lang?) → MdBlock[], string?` The fenced blocks as `{lang, content}`, all of them or
     * those of one language. Instead of `lang`, you can pass a table `{lang?, extrude = "content"}`: the second value
     * is then the text without these blocks. An unclosed fence is not a block.
     */
    extract_blocks: slow((call) => {
      const [, given] = call.args
      if (call.has(1) && typeof given !== 'string' && !isTable(given)) {
        throw call.error(`the options must be a language or a table, but were ${luaTypeName(given)}`)
      }
      const options = new Options(typeof given === 'string' ? { lang: given } : given, call.name)
      const wantsRest = options.extrude()
      const { blocks, rest } = extractBlocks(call.text(0), options.text('lang'))
      const tables = blocks.map((block) => ({ _type: 'MdBlock', ...block }))
      return wantsRest ? several(tables, rest) : tables
    }),
    /**
     * `aip.md.extract_meta(text?) → table, string` Merges the TOML, JSON and YAML blocks whose first line starts with
     * `#!meta` or `//!meta`; later ones take precedence, also among several YAML documents, and values that are not
     * tables are ignored. The second value is the text without them. nil returns nil twice; an invalid block is an
     * error that names the line.
     */
    extract_meta: slow(async (call) => {
      const content = call.optionalText(0)
      if (content === undefined) return several(undefined, undefined)
      const { blocks, rest } = extractMetaBlocks(content)
      const tables: LuaTable[] = []
      for (const block of blocks) tables.push(...(await tablesOf(block, content, call)))
      return several(Object.fromEntries(tables.flatMap((table) => Object.entries(table))), rest)
    }),
    /**
     * `aip.md.extract_refs(text?) → MdRef[]`
     * Links and images as `{target, text?, inline, kind}`; `kind` is `Anchor`, `File` or `Url`, and `inline` is true
     * for images. Fences and inline code are skipped. nil returns an empty list.
     */
    extract_refs: slow((call) =>
      extractReferences(call.optionalText(0) ?? '').map((reference) => ({ _type: 'MdRef', ...reference })),
    ),
    /**
     * `aip.md.outer_block_content_or_raw(text) → string`
     * The content between the first and last fence if the text starts with a fence; otherwise the text unchanged.
     */
    outer_block_content_or_raw: slow((call) => outerBlockContent(call.text(0))),
  },
}

async function tablesOf(block: MetaBlock, content: string, call: HostCall): Promise<readonly LuaTable[]> {
  const values = await valuesOf(block, content, call)
  return values.filter((value): value is ExactTable => isObject(value))
}

async function valuesOf(block: MetaBlock, content: string, call: HostCall): Promise<readonly ExactJson[]> {
  const source = {
    file: call.section.agentFile,
    text: content,
    block: block.content,
    firstLine: block.firstLine,
    what: 'the meta block',
    code: 'SCRIPT_FAILED',
  } as const
  try {
    if (block.lang === 'json') return [parseStrictJson(block.content)]
    if (block.lang === 'toml') return [await (await import('../../base/toml.ts')).parseExactToml(source)]
    return await (await import('../../base/yaml.ts')).parseYamlDocuments(source)
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      const where = `(line ${block.firstLine + error.line - 1} of the text)`
      throw call.error(`the meta block is not valid JSON: ${error.reason} ${where}`)
    }
    const line =
      error instanceof BatonError && error.place?.line !== undefined ? ` (line ${error.place.line} of the text)` : ''
    throw call.error(messageOf(error) + line)
  }
}

interface MarkdownBlock {
  /** The text after the opening fence; may be empty. */
  readonly lang: string
  /** Its lines, each with a newline. */
  readonly content: string
}

/**
 * The fenced blocks of a text, or those of one language, and the text without them. An unclosed fence starts no block
 * and removes no text.
 */
function extractBlocks(text: string, lang?: string): { readonly blocks: MarkdownBlock[]; readonly rest: string } {
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
    } else addAll(open, rest)
    open = []
  }
  addAll(open, rest)
  return { blocks, rest: rest.map((line) => `${line}\n`).join('') }
}

/** There may be more lines than a call can take arguments. */
function addAll(lines: readonly string[], to: string[]): void {
  for (const line of lines) to.push(line)
}

interface MetaBlock {
  readonly lang: 'toml' | 'json' | 'yaml'
  readonly content: string
  /** Line of the first content line in the text, from 1. */
  readonly firstLine: number
}

const metaOpening = /^```\s*(toml|json|yaml|yml)\s*$/
const metaMark = /^\s*(?:#|\/\/)!meta/

/**
 * The fenced `toml`, `json` and `yaml` blocks whose first line starts with `#!meta` or `//!meta`, and the text without
 * them. As in AIPack, a newline at the end of the text is dropped.
 */
function extractMetaBlocks(text: string): { readonly blocks: MetaBlock[]; readonly rest: string } {
  const lines = linesOf(text)
  const blocks: MetaBlock[] = []
  const rest: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (!line.startsWith('```')) {
      rest.push(line)
      continue
    }
    const end = fenceBehind(lines, index)
    const lang = metaOpening.exec(line)?.[1]
    const last = end === -1 ? lines.length - 1 : end
    if (lang !== undefined && end !== -1 && metaMark.test(lines[index + 1] ?? '')) {
      const content = lines.slice(index + 2, end).join('\n')
      blocks.push({ lang: lang === 'yml' ? 'yaml' : (lang as MetaBlock['lang']), content, firstLine: index + 3 })
    } else addAll(lines.slice(index, last + 1), rest)
    index = last
  }
  return { blocks, rest: rest.join('\n') }
}

/** The line of the next fence, or -1. */
function fenceBehind(lines: readonly string[], index: number): number {
  for (let at = index + 1; at < lines.length; at += 1) if (lines[at]?.startsWith('```') === true) return at
  return -1
}

/** The content between the first and last fence if the text starts with a fence; otherwise the text unchanged. */
function outerBlockContent(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return text
  const lines = linesOf(trimmed)
  const last = lines.findLastIndex((line) => line.startsWith('```'))
  return last > 0 ? `${lines.slice(1, last).join('\n')}\n` : trimmed
}

interface MarkdownReference {
  readonly target: string
  /** Undefined when the brackets are empty. */
  readonly text: string | undefined
  readonly inline: boolean
  readonly kind: 'Anchor' | 'File' | 'Url'
}

/** Links and images outside fences and inline code. */
function extractReferences(text: string): MarkdownReference[] {
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

interface MarkdownHeading {
  /** The whole line without its line break. */
  readonly line: string
  /** 1 to 6. */
  readonly level: number
  readonly name: string
}

export interface MarkdownSection {
  /** Undefined for the text before the first heading. */
  readonly heading: MarkdownHeading | undefined
  /** The heading line with its line break; empty without a heading. */
  readonly headingRaw: string
  /** The text after the heading line, verbatim. */
  readonly content: string
}

/** The level and name that a heading must match; level 0 is the text before the first heading. */
type HeadingPattern = Pick<MarkdownHeading, 'level' | 'name'>

/** A pattern such as `## Name`; the empty string stands for the text before the first heading. */
export function headingPattern(text: string): HeadingPattern | undefined {
  return text === '' ? { level: 0, name: '' } : parseHeading(text)
}

/** `#` to `######` at the start of the line, whitespace, a name. */
function parseHeading(line: string): MarkdownHeading | undefined {
  const match = /^(#{1,6})\s+(\S.*)$/.exec(line)
  if (match === null) return undefined
  const [, marks = '', name = ''] = match
  return { line, level: marks.length, name: name.trimEnd() }
}

/**
 * The sections of a Markdown text. Without patterns, every heading starts its own section. With patterns, a section
 * starts at a heading of that level and name, and includes the deeper headings below it. Headings inside fences are
 * ignored.
 */
export function markdownSections(text: string, patterns: readonly HeadingPattern[] = []): MarkdownSection[] {
  const parts = splitAtHeadings(text)
  if (patterns.length === 0) return parts
  const sections: MarkdownSection[] = []
  let open = false
  for (const part of parts) {
    const last = sections.at(-1)
    const level = part.heading?.level ?? 0
    if (open && last?.heading !== undefined && level > last.heading.level) {
      sections[sections.length - 1] = { ...last, content: last.content + part.headingRaw + part.content }
      continue
    }
    open = patterns.some((pattern) => pattern.level === level && pattern.name === (part.heading?.name ?? ''))
    if (open) sections.push(part)
  }
  return sections
}

/** The first section and everything after it. Together they are the whole text. */
export function splitFirstSection(text: string): {
  readonly first: MarkdownSection | undefined
  readonly after: string
} {
  const [first] = splitAtHeadings(text)
  if (first === undefined) return { first, after: '' }
  return { first, after: text.slice(first.headingRaw.length + first.content.length) }
}

function splitAtHeadings(text: string): MarkdownSection[] {
  const parts: MarkdownSection[] = []
  let fence: AipFence = 'out'
  let part = { heading: undefined as MarkdownHeading | undefined, headingRaw: '', contentStart: 0 }
  const close = (end: number): void => {
    if (part.heading === undefined && end === 0) return
    parts.push({ heading: part.heading, headingRaw: part.headingRaw, content: text.slice(part.contentStart, end) })
  }
  for (const { start, end, next } of lineSpans(text)) {
    const line = text.slice(start, end)
    fence = nextAipFence(fence, line)
    const heading = fence === 'out' ? parseHeading(line) : undefined
    if (heading !== undefined) {
      close(start)
      part = { heading, headingRaw: text.slice(start, next), contentStart: next }
    }
  }
  close(text.length)
  return parts
}
